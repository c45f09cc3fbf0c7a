"""Bad connections: garbage instead of TLS or HTTP, slow and vanishing clients, very many of them, wrong credentials."""

import base64
import contextlib
import json
import os
import pathlib
import resource
import select
import socket
import ssl
import subprocess
import tempfile
import threading
import time

import yaml

import _server
from _faults import CONFIG_MAPS, Raw, check, config_map, fails, insecure, refused, wait

WATCHERS = int(os.environ.get("KUEUE_WATCHERS", "2000"))


def received(connection, timeout_s=20):
    """Everything up to the end of the connection."""
    connection.settimeout(timeout_s)
    out = b""
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        while piece := connection.recv(65536):
            out += piece
    return out


def garbage_tls(raw, _):
    hello = bytes.fromhex("1603010200010001fc0303") + os.urandom(200)
    for data in (os.urandom(4096), b"\0" * 4096, b"\x16\x03\x01\xff\xff" + b"a" * 70000, b"\x16\x03\x01\0\0" * 3000, hello,
                 b"\x80\x2e\x01\x03\x01" + os.urandom(50), b"\x15\x03\x03\0\x02\x02\x28", b"\x17\x03\x03\0\x10" + b"x" * 16, b""):
        with raw.plain() as connection:
            with contextlib.suppress(OSError):
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
            received(connection)
    with raw.plain() as connection:
        connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = received(connection)
    check(b"400" in answer and b"HTTPS server" in answer, f"plain HTTP is answered {answer[:200]!r}")
    # Garbage after a good handshake.
    with raw.tls() as connection:
        socket.socket.send(connection, os.urandom(500))
        received(connection)


def malformed_http(raw, _):
    bearer = "".join(f"{k}: {v}\r\n" for k, v in raw.config.headers().items()).encode()
    cases = [
        (400, b"GET / HTTP/1.1\nHost: a\n\n"), (400, b"GET /  HTTP/1.1\r\nHost: a\r\n\r\n"), (400, b"\r\n" * 10 + b"nonsense\r\n\r\n"),
        (400, b"GET / HTTP/1.1\r\nHost : a\r\n\r\n"), (400, b"GET / HTTP/1.1\r\n folded: a\r\n\r\n"),
        (400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc"),
        (400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc"),
        (400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\nabc"),
        (400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\nabc"),
        (400, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc"),
        (413, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n"),
        (413, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3145729\r\n\r\n"),
        (501, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"), (505, b"GET / HTTP/3.0\r\nHost: a\r\n\r\n"),
        (400, b"GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n"), (400, b"GET nonsense HTTP/1.1\r\nHost: a\r\n\r\n"),
        (431, b"GET / HTTP/1.1\r\nHost: a\r\nBig: " + b"x" * 70000 + b"\r\n\r\n"),
        (431, b"GET /" + b"x" * 70000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"),
        (431, b"GET / HTTP/1.1\r\n" + b"".join(b"H%d: x\r\n" % n for n in range(10000)) + b"\r\n"),
        (200, b"GET /readyz HTTP/1.0\r\n" + bearer + b"\r\n"),
    ]
    for status, text in cases:
        with raw.tls() as connection:
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                connection.sendall(text)
            if status == 200 or b"nonsense HTTP/1.1" in text:
                connection.settimeout(20)
                answer = connection.recv(65536)
            else:
                try:
                    answer = received(connection)
                except TimeoutError:
                    answer = b"nothing"
        check(answer.startswith(b"HTTP/1.1 %d " % status), f"{text[:60]!r}: wanted {status}, got {answer[:200]!r}")


def half_closed(raw, _):
    """The client has said all it will say, and still waits for the answer."""
    body = json.dumps(config_map("half")).encode()
    head = (f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            + "".join(f"{k}: {v}\r\n" for k, v in raw.config.headers().items()) + "\r\n").encode()
    with raw.tls() as connection:
        connection.sendall(head + body)
        connection.shutdown(socket.SHUT_WR)
        # The socket underneath; the ssl module gives up its session at shutdown().
    wait(lambda: raw.send("GET", f"{CONFIG_MAPS}/half").ok, "the object of a half-closed request")
    # Vanishing in the middle of a body: nothing is stored.
    torn = head.replace(b"Content-Length: %d" % len(body), b"Content-Length: %d" % (len(body) + 10))
    for reset in (False, True):
        with raw.tls() as connection:
            connection.sendall(torn + body.replace(b'"half"', b'"torn"'))
            if reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    # Watches whose client is gone are let go.
    for _ in range(20):
        with raw.tls() as connection:
            connection.sendall(f"GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            connection.recv(1)
    raw.alive()
    check(raw.send("GET", f"{CONFIG_MAPS}/torn").status == 404, "half a request was stored")


def slow_clients(raw, _):
    """Hundreds that send a byte and wait do not keep the others from being served."""
    open_ones = []
    try:
        for n in range(150):
            connection = raw.plain() if n % 2 else raw.tls()
            connection.sendall(b"\x16" if n % 2 else b"GET / HTTP/1.1\r\nX-Slow: ")
            open_ones.append(connection)
        for n in range(20):
            started = time.monotonic()
            raw.create(CONFIG_MAPS, config_map(f"beside-slow-{n}"))
            check(time.monotonic() - started < 10, "a request beside slow clients took more than 10 s")
    finally:
        for connection in open_ones:
            connection.close()


def slow_readers(raw, _):
    """Clients that ask for much and do not read: the server keeps its memory, and serves the others."""
    blob = "x" * 500_000
    for n in range(4):
        raw.create(CONFIG_MAPS, config_map(f"blob-{n}", data={"a": blob}))
    asks = "".join(f"{k}: {v}\r\n" for k, v in raw.config.headers().items())
    lazy = []
    try:
        for _ in range(30):
            connection = raw.tls()
            connection.sendall(f"GET {CONFIG_MAPS} HTTP/1.1\r\nHost: a\r\n{asks}\r\n".encode() * 5)
            lazy.append(connection)
        for n in range(4):
            answer = raw.send("PUT", f"{CONFIG_MAPS}/blob-{n}", config_map(f"blob-{n}", data={"a": "small"}))
            check(answer.ok, answer.text)
    finally:
        for connection in lazy:
            connection.close()


def raise_own_limit():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def many_watchers(raw, _):
    """Thousands of watches on one kind: every one gets the change. The server's soft limit of files is the usual 1024."""
    count = min(WATCHERS, raise_own_limit() - 200)
    asks = "".join(f"{k}: {v}\r\n" for k, v in raw.config.headers().items())
    request = f"GET /api/v1/configmaps?watch=true&fieldSelector=metadata.name%3Dseen HTTP/1.1\r\nHost: a\r\n{asks}\r\n".encode()
    watches = []
    try:
        session = None
        for _ in range(count):
            plain = raw.plain()
            connection = raw.context.wrap_socket(plain, server_hostname=raw.address[0], session=session)
            session = session or connection.session
            connection.sendall(request)
            watches.append(connection)
        waiting = {c.fileno(): (c, [b""]) for c in watches}
        poll = select.epoll()
        for number in waiting:
            poll.register(number, select.EPOLLIN)
        for c in watches:
            c.setblocking(False)
        answered = set()

        def read(wanted, until):
            while len(answered) < count:
                check(time.monotonic() < until, f"{len(answered)} of {count} watches have {wanted!r}")
                for number, _ in poll.poll(1):
                    connection, held = waiting[number]
                    with contextlib.suppress(ssl.SSLWantReadError):
                        while True:
                            piece = connection.recv(65536)
                            check(piece, "a watch was ended")
                            held[0] += piece
                    if wanted in held[0]:
                        answered.add(number)
        read(b"200 OK", time.monotonic() + 60)
        answered.clear()
        raw.create(CONFIG_MAPS, config_map("seen"))
        read(b'"ADDED"', time.monotonic() + 60)
        poll.close()
    finally:
        for connection in watches:
            connection.close()


def openssl(*arguments, cwd):
    subprocess.run(["openssl", *arguments], cwd=cwd, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def make_client_pair(folder, ca_crt, ca_key, name, days):
    """A client certificate of system:masters, signed by the authority; days < 0 is long over."""
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
            "-subj", "/O=system:masters/CN=kubernetes-admin", cwd=folder)
    when = ["-days", str(days)]
    if days < 0:
        (folder / "index.txt").write_text("")
        (folder / "serial").write_text("01\n")
        (folder / "ca.conf").write_text("[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\n"
                                        "policy=p\n[p]\norganizationName=optional\ncommonName=supplied\n")
        openssl("ca", "-batch", "-config", "ca.conf", "-in", f"{name}.csr", "-cert", ca_crt, "-keyfile", ca_key, "-startdate",
                "20200101000000Z", "-enddate", "20200201000000Z", "-out", f"{name}.crt", "-notext", cwd=folder)
        return
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", ca_crt, "-CAkey", ca_key, "-CAcreateserial", "-out", f"{name}.crt", *when, cwd=folder)


def without_credentials(raw, headers=None, pair=None):
    context = insecure()
    if pair:
        context.load_cert_chain(*pair)
    other = Raw(raw.config.path)
    other.context = context
    other.config.user = {}
    try:
        return other.send("GET", CONFIG_MAPS, headers=headers or {})
    finally:
        other.close()


def wrong_credentials(args):
    with tempfile.TemporaryDirectory(prefix="kueue-certs-") as work:
        folder = pathlib.Path(work)
        with _server.embedded(args.kueue, "--no-manager", memory=False, data_dir=f"{work}/data") as (kubeconfig, process, log):
            raw = Raw(kubeconfig)
            refused(without_credentials(raw), 403, "system:anonymous", "configmaps", reason="Forbidden")
            for value in ("Bearer nonsense", "Bearer " + "x" * 20000, "Bearer a.b.c", "Basic YTpi", "Bearer", "\xff"):
                refused(without_credentials(raw, {"Authorization": value}), 401, reason="Unauthorized")
            token = (folder / "data/pki/token").read_text().strip()
            check(without_credentials(raw, {"Authorization": f"Bearer {token}"}).ok, "the token is not taken")
            pki = folder / "data/pki"
            make_client_pair(folder, str(pki / "ca.crt"), str(pki / "ca.key"), "good", 1)
            make_client_pair(folder, str(pki / "ca.crt"), str(pki / "ca.key"), "over", -1)
            openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "foreign-ca.key", "-out",
                    "foreign-ca.crt", "-subj", "/CN=kueue-ca", "-days", "2", cwd=folder)
            make_client_pair(folder, "foreign-ca.crt", "foreign-ca.key", "foreign", 1)
            check(without_credentials(raw, pair=(folder / "good.crt", folder / "good.key")).ok, "a good certificate is not taken")
            for name in ("over", "foreign"):
                try:
                    answer = without_credentials(raw, pair=(folder / f"{name}.crt", folder / f"{name}.key"))
                    refused(answer, 401, reason="Unauthorized")
                except (ssl.SSLError, ConnectionError):
                    pass  # refused before HTTP is as good
            # Commands and the manager with kubeconfigs whose certificates do not fit.
            document = yaml.safe_load(pathlib.Path(kubeconfig).read_text())

            def variant(name, **changes):
                copy = json.loads(json.dumps(document))
                for field, value in changes.items():
                    part = copy["clusters"][0]["cluster"] if field.startswith(("certificate-authority", "server")) else copy["users"][0]["user"]
                    part[field] = value
                (folder / name).write_text(yaml.safe_dump(copy))
                return folder / name
            encoded = {n: base64.b64encode((folder / n).read_bytes()).decode() for n in
                       ("foreign-ca.crt", "over.crt", "over.key", "foreign.crt", "foreign.key")}
            bad = [
                (variant("ca", **{"certificate-authority-data": encoded["foreign-ca.crt"]}), "certificate"),
                (variant("over", **{"client-certificate-data": encoded["over.crt"], "client-key-data": encoded["over.key"]}), ""),
                (variant("foreign", **{"client-certificate-data": encoded["foreign.crt"], "client-key-data": encoded["foreign.key"]}), ""),
                (variant("mixed", **{"client-key-data": encoded["over.key"]}), "key"),
                (variant("base64", **{"client-key-data": "!!!"}), "client-key-data"),
                (variant("pem", **{"certificate-authority-data": base64.b64encode(b"nonsense").decode()}), "certificate"),
                (variant("http", server=document["clusters"][0]["cluster"]["server"].replace("https", "http")), ""),
                (variant("refused", server="https://127.0.0.1:1"), "refused"),
                (variant("name", server="https://no-such-host.invalid:1"), "no-such-host.invalid"),
                (variant("url", server="::::"), "server"),
            ]
            for path, word in bad:
                fails([args.kueue, "get", "configmaps", "--kubeconfig", path], 1, "error", word)
            check(process.poll() is None, f"the server ended: {_server.tail(log)}")
            raw.alive()
            raw.close()


def few_files(args):
    """A server that may open few files: connections wait or are closed, writes go on, and it recovers."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (120, 120))
    with tempfile.TemporaryDirectory(prefix="kueue-files-") as work:
        kubeconfig = f"{work}/kubeconfig"
        with open(f"{work}/log", "wb") as out:
            process = subprocess.Popen([args.kueue, "up", "--port=0", f"--kubeconfig={kubeconfig}", f"--data-dir={work}/data"],
                                       preexec_fn=limit, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        try:
            wait(lambda: os.path.exists(kubeconfig), "the server", 60, process, f"{work}/log")
            raw = Raw(kubeconfig)
            raw.create(CONFIG_MAPS, config_map("before"))
            held = []
            for _ in range(150):
                held.append(raw.plain())
            for n in range(20):
                raw.create(CONFIG_MAPS, config_map(f"among-{n}"))
            for connection in held:
                connection.close()
            other = Raw(kubeconfig)
            wait(lambda: other.send("GET", "/readyz").ok, "a new connection when others have gone")
            other.close()
            raw.close()
            check(process.poll() is None, _server.tail(f"{work}/log"))
        finally:
            _server.stop(process)


ON_ONE_SERVER = [garbage_tls, malformed_http, half_closed, slow_clients, slow_readers, many_watchers]
ALONE = [few_files]
