#!/usr/bin/env python3
"""Scans every port of a server and a manager: garbage, too much, too slow, without credentials. And what they serve is well-formed.

Usage: ports.py --kueue BINARY [--only WORD]
Ports: API server, webhooks, metrics, health, visibility, debug. No crash, bounded memory, no data without permission.
Metrics are judged by the linter of `promtool check metrics`, profiles by the reader of `go tool pprof`, both where Go is.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import _server  # noqa: E402
from _faults import CLUSTER_QUEUES, FLAVORS, JOBS, LOCAL_QUEUES, Raw, check, cluster_queue, flavor, insecure, job, local_queue, wait  # noqa: E402
from _faults_cluster import make_certificate  # noqa: E402
from _faults_connections import received  # noqa: E402
from _tally import Skipped, Tally  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLOW_CONNECTIONS = 200
GROWTH_MIB = 96      # of resident memory, after everything
ENDLESS = 64 << 20   # bytes of a body that never ends
SECRET, VALUE = "not-for-everybody", b"full of secrets"


class Port:
    """One address; `open_paths`: what anybody may read there."""

    def __init__(self, name, number, tls, process, open_paths):
        self.name, self.number, self.tls, self.process, self.open_paths = name, number, tls, process, open_paths

    def connect(self, timeout_s=20):
        plain = socket.create_connection(("127.0.0.1", self.number), timeout_s)
        return insecure().wrap_socket(plain) if self.tls else plain

    def plain(self):
        return socket.create_connection(("127.0.0.1", self.number), 20)

    def ask(self, path, method="GET", headers=None, body=None, timeout_s=20, context=None):
        if self.tls:
            connection = http.client.HTTPSConnection("127.0.0.1", self.number, timeout=timeout_s, context=context or insecure())
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.number, timeout=timeout_s)
        with contextlib.closing(connection):
            return self.ask_on(connection, path, method, headers, body)

    @staticmethod
    def ask_on(connection, path, method="GET", headers=None, body=None):
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def kept(self):
        """A connection for many requests."""
        return (http.client.HTTPSConnection("127.0.0.1", self.number, timeout=20, context=insecure()) if self.tls
                else http.client.HTTPConnection("127.0.0.1", self.number, timeout=20))

    def raw(self, data, timeout_s=20):
        """What comes back to these bytes, until the end of the connection or `timeout_s`."""
        with self.connect() as connection:
            with contextlib.suppress(OSError):
                connection.sendall(data)
            with contextlib.suppress(TimeoutError):
                return received(connection, timeout_s)
            return b""


class World:
    """A server and a manager beside it, with every port open."""

    def __init__(self, args, stack):
        self.work = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kueue-ports-")))
        make_certificate(self.work)
        self.kubeconfig, server, self.server_log = stack.enter_context(_server.embedded(
            args.kueue, "--no-manager", "--nodes=2x8cpu,32Gi", memory=False, data_dir=str(self.work / "data")))
        self.raw = Raw(self.kubeconfig)
        self.raw.create("/api/v1/namespaces", {"metadata": {"name": "kueue-system"}})
        self.raw.create("/api/v1/namespaces/default/secrets", {"metadata": {"name": SECRET}, "stringData": {"a": VALUE.decode()}})
        self.token = (self.work / "data/pki/token").read_text().strip()
        self.config = {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "internalCertManagement": {"enable": False},
            "leaderElection": {"leaderElect": False}}
        numbers = {}
        for name in ("webhook", "metrics", "health", "visibility", "debug"):
            with socket.create_server(("127.0.0.1", 0)) as probe:
                numbers[name] = probe.getsockname()[1]
        self.config |= {
            "webhook": {"host": "127.0.0.1", "port": numbers["webhook"], "certDir": str(self.work)},
            "metrics": {"bindAddress": f"127.0.0.1:{numbers['metrics']}", "enableClusterQueueResources": True},
            "health": {"healthProbeBindAddress": f"127.0.0.1:{numbers['health']}"}, "pprofBindAddress": f"127.0.0.1:{numbers['debug']}",
            "visibilityServer": {"bindAddress": "127.0.0.1", "bindPort": numbers["visibility"]}}
        self.config_file, self.log = self.work / "config.yaml", self.work / "manager.log"
        self.config_file.write_text(json.dumps(self.config))
        with open(self.log, "wb") as out:
            self.manager = subprocess.Popen(
                [args.kueue, "manager", f"--config={self.config_file}", f"--kubeconfig={self.kubeconfig}", "--zap-log-level=2"], stdout=out,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=os.environ | {"HOME": str(self.work)})
        stack.callback(_server.stop, self.manager)
        m = self.manager
        self.ports = [
            Port("API server", self.raw.address[1], True, server, {"/readyz", "/livez", "/healthz", "/version"}),
            Port("webhooks", numbers["webhook"], True, m, set()), Port("metrics", numbers["metrics"], True, m, set()),
            Port("health", numbers["health"], False, m, {"/healthz", "/readyz"}), Port("visibility", numbers["visibility"], True, m, {"/healthz", "/readyz", "/livez"}),
            Port("debug", numbers["debug"], False, m, {"/debug/", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/threads", "/debug/state"})]
        self.health = self.port("health")
        wait(self.ready, "the manager", 60, m, self.log)
        self.raw.create(FLAVORS, flavor())
        self.raw.create(CLUSTER_QUEUES, cluster_queue("queue", cpu="2"))
        self.raw.create(LOCAL_QUEUES, local_queue("local", "queue"))
        for n in range(3):
            self.raw.create(JOBS, job(f"j-{n}", "local", seconds="1h"))

    def port(self, name):
        return next(p for p in self.ports if p.name == name)

    def ready(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.health.ask("/readyz")[0] == 200
        return False

    def alive(self):
        for port in self.ports:
            check(port.process.poll() is None, f"the process of {port.name} ended: {_server.tail(self.log)}")
        check(self.ready(), "the manager is not ready")
        self.raw.alive()

    def memory_mib(self):
        return {p.pid: resident_mib(p.pid) for p in {port.process for port in self.ports}}


def resident_mib(pid):
    line = next(l for l in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if l.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


# ---- the scan

def garbage(world):
    """Bytes that are no TLS, no HTTP, or neither for long."""
    for port in world.ports:
        for data in (os.urandom(4096), b"\0" * 4096, b"\x16\x03\x01\xff\xff" + b"a" * 70000, b"\x16\x03\x01\0\0" * 3000,
                     b"\x80\x2e\x01\x03\x01" + os.urandom(50), b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b""):
            with port.plain() as connection:
                with contextlib.suppress(OSError):
                    connection.sendall(data)
                    connection.shutdown(socket.SHUT_WR)
                answer = received(connection)
            check(VALUE not in answer and (port.name != "metrics" or b"kueue_" not in answer), f"{port.name} says {answer[:200]!r}")


def malformed(world):
    """Requests that break a rule of HTTP are answered with 4xx or 5xx, or not at all."""
    cases = [b"GET / HTTP/1.1\nHost: a\n\n", b"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", b"\r\n" * 10 + b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
             b"GET / HTTP/1.1\r\n folded: a\r\n\r\n", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
             b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
             b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\nabc", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
             b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", b"GET nonsense HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
             b"GET /%zz%00 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", b"GET /../../etc/passwd HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"]
    for port in world.ports:
        for data in cases:
            answer = port.raw(data)
            check(not answer or answer[:9] == b"HTTP/1.1 " and answer[9:10] in b"45", f"{port.name}: {data[:60]!r} is answered {answer[:200]!r}")


def oversized(world):
    """Heads and bodies beyond the limit: 431 and 413, and nothing of it is kept."""
    for port in world.ports:
        for status, data in ((b"431", b"GET / HTTP/1.1\r\nHost: a\r\nBig: " + b"x" * 70000 + b"\r\n\r\n"),
                             (b"431", b"GET /" + b"x" * 70000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"),
                             (b"413", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n"),
                             (b"413", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n")):
            answer = port.raw(data)
            check(answer[9:12] == status, f"{port.name}: wanted {status}, got {answer[:200]!r}")
        sent, piece = 0, b"10000\r\n" + b"x" * 65536 + b"\r\n"
        with port.connect() as connection, contextlib.suppress(OSError):
            connection.sendall(b"POST /validate-kueue-x-k8s-io-v1beta2-workload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            while sent < ENDLESS:
                connection.sendall(piece)
                sent += 65536
        check(sent < ENDLESS, f"{port.name} took {sent} bytes of one body")


def slow(world):
    """Hundreds of clients that send a byte and wait, on every port at once; everybody else is served meanwhile."""
    with contextlib.ExitStack() as stack:
        for port in world.ports:
            for n in range(SLOW_CONNECTIONS // len(world.ports)):
                connection = stack.enter_context(port.connect() if n % 2 else port.plain())
                connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: " if n % 2 or not port.tls else b"\x16")
        for port in world.ports:
            started = time.monotonic()
            port.ask("/")
            check(time.monotonic() - started < 5, f"{port.name} took {time.monotonic() - started:.1f} s beside slow clients")
        world.alive()


PATHS = ["/", "/api", "/apis", "/api/v1/secrets", f"/api/v1/namespaces/default/secrets/{SECRET}", "/api/v1/pods", "/apis/batch/v1/jobs",
         "/apis/kueue.x-k8s.io/v1beta2/workloads", "/openapi/v2", "/openapi/v3", "/metrics", "/debug/", "/debug/state", "/debug/pprof/",
         "/debug/pprof/cmdline", "/debug/pprof/heap", "/debug/threads", "/healthz", "/readyz", "/livez", "/version", "/convert",
         "/mutate--v1-pod", "/validate-kueue-x-k8s-io-v1beta2-workload", "/apis/visibility.kueue.x-k8s.io/v1beta2",
         "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/queue/pendingworkloads",
         "/apis/visibility.kueue.x-k8s.io/v1beta1/namespaces/default/localqueues/local/pendingworkloads", "/.git/config", "/etc/passwd"]
FORGED = [{}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Basic YWRtaW46YWRtaW4="},
          {"X-Remote-User": "system:admin", "X-Remote-Group": "system:masters"}, {"Impersonate-User": "system:admin"}]


def unauthenticated(world):
    """Without credentials, with wrong ones and with forged headers: only what is for everybody."""
    for port in world.ports:
        connection = port.kept()
        for path in PATHS:
            for method, headers in [("GET", headers) for headers in FORGED if port.tls or not headers] + [("POST", {}), ("DELETE", {})]:
                status, body = port.ask_on(connection, path, method, headers, b"{}" if method == "POST" else None)
                # API servers call webhooks without credentials: what they are given they answer.
                allowed = (method == "GET" or port.name in ("health", "visibility")) and path in port.open_paths or method == "POST" and port.name == "webhooks"
                check(allowed or status >= 400, f"{method} {path} on {port.name} with {headers}: {status} {body[:200]!r}")
                check(VALUE not in body and b"ZnVsbCBvZiBzZWNyZXRz" not in body and b'"j-0' not in body, f"{path} on {port.name} tells {body[:300]!r}")


def foreign_certificate(world):
    """A client certificate that no authority of the cluster has signed opens nothing."""
    context = insecure()
    context.load_cert_chain(world.work / "tls.crt", world.work / "tls.key")
    for port in world.ports:
        if port.tls:
            for path in ("/api/v1/secrets", "/metrics", "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/queue/pendingworkloads"):
                with contextlib.suppress(ssl.SSLError, ConnectionError):  # refused before HTTP is as good
                    headers = {"X-Remote-User": "system:admin", "X-Remote-Group": "system:masters"}
                    status, body = port.ask(path, headers=headers, context=context)
                    check(status >= 400, f"{path} on {port.name}: {status} {body[:200]!r}")


def bad_reviews(world):
    """Reviews that are none, of nothing, or of too much: an answer with an error, from webhooks and conversion."""
    port = world.port("webhooks")
    deep = b'{"a":' * 5000 + b"1" + b"}" * 5000
    for path in ("/convert", "/mutate-kueue-x-k8s-io-v1beta2-clusterqueue", "/validate-kueue-x-k8s-io-v1beta2-clusterqueue", "/mutate-batch-v1-job"):
        for body in (b"", b"{", b"[]", b"null", b"\xff\xfe", deep, b'{"kind":"AdmissionReview","request":null}', b'{"request":{"uid":1,"object":[]}}',
                     b'{"kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"kueue.x-k8s.io/v9","objects":[{}]}}',
                     b'{"kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE","object":{"kind":"ClusterQueue","spec":{"resourceGroups":7}}}}'):
            status, text = port.ask(path, "POST", {"Content-Type": "application/json"}, body)
            allowed = False
            with contextlib.suppress(ValueError, AttributeError):
                allowed = json.loads(text)["response"].get("allowed", False) if status == 200 and b"response" in text else False
            check(status >= 400 or not allowed or b'"request"' in body, f"{path}: {body[:60]!r} is answered {status} {text[:200]!r}")


# ---- what they serve

def go_tool():
    """The program of test/promlint; None where it cannot be built."""
    folder = _server.CACHE / "promlint"
    built = subprocess.run(["bash", str(ROOT / "test/promlint/build"), str(folder)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
    return str(folder / "promlint") if built.returncode == 0 else None


def metrics_are_clean(world):
    status, text = world.port("metrics").ask("/metrics", headers={"Authorization": f"Bearer {world.token}"})
    check(status == 200 and b"kueue_" in text, f"/metrics says {status} {text[:200]!r}")
    tool = [shutil.which("promtool"), "check", "metrics"] if shutil.which("promtool") else [go_tool()]
    if tool[0] is None:
        raise Skipped("the linter of metrics needs promtool or Go")
    done = subprocess.run(tool, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == 0, f"the metrics: {done.stdout.decode()[:2000]}")


def profile_is_read_by_pprof(world):
    status, profile = world.port("debug").ask("/debug/pprof/profile?seconds=1")
    check(status == 200, f"the profile: {status}")
    tool = go_tool()
    if tool is None:
        raise Skipped("the reader of profiles needs Go")
    done = subprocess.run([tool, "profile"], input=profile, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == 0 and done.stdout.startswith(b"cpu "), f"as pprof reads it: {done.stdout.decode()[:1000]}")


def heap_profile_is_off_unless_asked_for(world):
    status, text = world.port("debug").ask("/debug/pprof/heap")
    check(status == 404 and b"MALLOC_CONF=prof:true" in text, f"the heap profile: {status} {text[:200]}")


def reload_says_what_it_does(world):
    """SIGHUP: a changed Configuration is read, and every change is named, in force or not; a broken one changes nothing."""
    changed = world.config | {"tls": {"minVersion": "VersionTLS13"}, "manageJobsWithoutQueueName": True}
    world.config_file.write_text(json.dumps(changed))
    world.manager.send_signal(signal.SIGHUP)
    wait(lambda: "manageJobsWithoutQueueName: in force" in world.log.read_text(), "the change to be named", 20, world.manager, world.log)
    context = insecure()
    context.maximum_version = ssl.TLSVersion.TLSv1_2

    def refused():
        try:
            world.port("webhooks").ask("/", context=context)
        except (ssl.SSLError, ConnectionError):
            return True
        return False
    wait(refused, "TLS 1.2 to be refused", 20)
    before = world.log.stat().st_size
    world.config_file.write_text(json.dumps(changed | {"webhook": changed["webhook"] | {"port": 1}}))
    world.manager.send_signal(signal.SIGHUP)
    wait(lambda: "webhook.port: changed; takes effect" in world.log.read_bytes()[before:].decode(), "what waits to be named", 20, world.manager,
         world.log)
    world.config_file.write_text("{ nonsense")
    world.manager.send_signal(signal.SIGHUP)
    wait(lambda: "not read again" in world.log.read_bytes()[before:].decode(), "the broken file to be named", 20, world.manager, world.log)
    world.alive()
    world.config_file.write_text(json.dumps(world.config))


TESTS = [garbage, malformed, oversized, slow, unauthenticated, foreign_certificate, bad_reviews, metrics_are_clean, profile_is_read_by_pprof,
         heap_profile_is_off_unless_asked_for,
         reload_says_what_it_does]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kueue", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    args.kueue = os.path.abspath(args.kueue)
    tests = [t for t in TESTS if args.only in t.__name__]
    if shutil.which("openssl") is None:
        print(f"SKIPPED: certificates are made by the program openssl\n0 passed, 0 failed, {len(tests)} skipped")
        return 0
    tally = Tally()
    with contextlib.ExitStack() as stack:
        world = World(args, stack)
        before = world.memory_mib()
        for test in tests:
            tally.play(test, world, afterwards=world.alive)
        grown = {pid: mib - before[pid] for pid, mib in world.memory_mib().items()}
        print(f"resident memory grew by {', '.join(f'{mib:.0f} MiB' for mib in grown.values())}")
        if max(grown.values()) > GROWTH_MIB:
            tally.fail("memory", f"more than {GROWTH_MIB} MiB")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
