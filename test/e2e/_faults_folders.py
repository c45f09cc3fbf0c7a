"""Faults of disk, files, ports, signals and flags: a clear line on stderr and an exit code, and no acknowledged write lost."""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time

import _server
from _faults import (CLUSTER_QUEUES, CONFIG_MAPS, FLAVORS, JOBS, LOCAL_QUEUES, Raw, check, cluster_queue, config_map, fails,
                     flavor, is_true, job, local_queue, refused, wait)

MIB = 1 << 20


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory(prefix="kueue-faults-") as work:
        yield pathlib.Path(work)


def up(args, data, *flags):
    return _server.embedded(args.kueue, *flags, memory=False, data_dir=str(data))


def up_command(args, work, data, *flags):
    return [args.kueue, "up", "--port=0", f"--kubeconfig={work}/kubeconfig", f"--data-dir={data}", *flags]


def two_servers_on_one_folder(args):
    with folder() as work, up(args, work / "data") as (kubeconfig, process, _):
        raw = Raw(kubeconfig)
        raw.create(CONFIG_MAPS, config_map("first"))
        fails(up_command(args, work, work / "data"), 1, str(work / "data"), "in use", str(process.pid))
        raw.create(CONFIG_MAPS, config_map("second"))
        raw.close()


def port_in_use(args):
    with folder() as work, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        fails([args.kueue, "up", "--memory", f"--kubeconfig={work}/kubeconfig", f"--port={port}"], 1, str(port), "in use", "--port 0")
        check(not (work / "kubeconfig").exists(), "a kubeconfig of a server that never ran")
        # A manager names the setting.
        with _server.embedded(args.kueue, "--no-manager") as (kubeconfig, _, _):
            (work / "config").write_text("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nleaderElection: {leaderElect: false}\n"
                                         f"webhook: {{host: 127.0.0.1, port: {port}}}\n")
            fails([args.kueue, "manager", f"--config={work}/config", f"--kubeconfig={kubeconfig}"], 1, "webhook.port", str(port))


def names_what_is_not_built(args):
    """Frameworks that are not there yet: named when it starts, which it does all the same."""
    with folder() as work:
        (work / "config").write_text("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                                     "integrations: {frameworks: [batch/job, pod, statefulset]}\n")
        with _server.embedded(args.kueue, f"--config={work}/config", "--nodes=none") as (_, _, log):
            text = _server.wait_until(lambda: log.read_text() if "warning: " in log.read_text() else None, "the warnings")
            for field, name in (("integrations.frameworks[1]", "pod"), ("integrations.frameworks[2]", "statefulset")):
                check(f'{field}: "{name}" is not there yet' in text, f"{name} is not named: {text}")


def newer_folder(args):
    with folder() as work:
        with up(args, work / "data") as (kubeconfig, _, _):
            Raw(kubeconfig).create(CONFIG_MAPS, config_map("kept"))
        database = work / "data/state.db"
        with contextlib.closing(sqlite3.connect(database)) as db:
            own = db.execute("PRAGMA user_version").fetchone()[0]
            db.execute("PRAGMA user_version=99")
        before = database.read_bytes()
        fails(up_command(args, work, work / "data"), 1, "newer version", "99", str(work / "data"))
        check(database.read_bytes() == before, "the folder of a newer version was changed")
        with contextlib.closing(sqlite3.connect(database)) as db:
            db.execute(f"PRAGMA user_version={own}")
        with up(args, work / "data") as (kubeconfig, _, _):
            Raw(kubeconfig).get(f"{CONFIG_MAPS}/kept")


def damage_cases(path):
    """Name -> what is done to the database."""
    def edit(change):
        def act():
            data = bytearray(path.read_bytes())
            change(data)
            path.write_bytes(bytes(data))
        return act

    def cut(data):
        del data[len(data) // 2:]

    def head(data):
        data[:100] = os.urandom(100)

    def noise(data):
        for at in range(4096, len(data) - 4096, 4096):
            data[at:at + 64] = os.urandom(64)

    def sql(text):
        def act():
            with contextlib.closing(sqlite3.connect(path)) as db:
                db.execute(text)
                db.commit()
        return act

    def as_folder():
        path.unlink()
        path.mkdir()
    return {
        "cut in half": edit(cut), "garbage at its start": edit(head), "garbage in every page": edit(noise), "no database": lambda: path.write_text("hello"),
        "a folder": as_folder, "without its table": sql("DROP TABLE objects"),
        "a row that is no JSON": sql("UPDATE objects SET value='garbage' WHERE key='default/kept'"),
        "a row cut short": sql("UPDATE objects SET value=substr(value, 1, length(value) / 2) WHERE key='default/kept'"),
        "a row without its version": sql("UPDATE objects SET value='{}' WHERE key='default/kept'"),
        "a flipped letter in a value": sql("UPDATE objects SET value=CAST(replace(CAST(value AS TEXT), 'xxx', 'xyx') AS BLOB) "
                                           "WHERE key='default/kept-7'"),
        "a row that is a list": sql("UPDATE objects SET value='[]' WHERE key='default/kept'"),
    }


def damaged_folder(args):
    """A clear refusal, with the file left as it is for whoever can mend it."""
    with folder() as work:
        with up(args, work / "data") as (kubeconfig, _, _):
            raw = Raw(kubeconfig)
            for n in range(60):
                raw.create(CONFIG_MAPS, config_map(f"kept-{n}", data={"a": "x" * 3000}))
            raw.create(CONFIG_MAPS, config_map("kept"))
            raw.close()
        for name in damage_cases(None):
            data = work / "damaged"
            shutil.rmtree(data, ignore_errors=True)
            shutil.copytree(work / "data", data)
            database = data / "state.db"
            damage_cases(database)[name]()
            before = database.read_bytes() if database.is_file() else None
            try:
                fails(up_command(args, work, data, "--no-manager"), 1, str(data), "error:")
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from None
            check(before is None or database.read_bytes() == before, f"{name}: the damaged file was changed")
            check(not (work / "kubeconfig").exists(), f"{name}: a kubeconfig was written")
        # Damage that only takes what was never acknowledged as whole: a torn end of the write-ahead log.
        with up(args, work / "data") as (kubeconfig, process, _):
            raw = Raw(kubeconfig)
            raw.create(CONFIG_MAPS, config_map("in-the-log"))
            raw.close()
            process.kill()
            process.wait()
        wal = work / "data/state.db-wal"
        check(wal.exists() and wal.stat().st_size > 0, "no write-ahead log to tear")
        with open(wal, "ab") as out:
            out.write(os.urandom(5000))
        with up(args, work / "data") as (kubeconfig, _, _):
            raw = Raw(kubeconfig)
            raw.get(f"{CONFIG_MAPS}/in-the-log")
            raw.get(f"{CONFIG_MAPS}/kept")
            raw.close()


def damaged_certificates(args):
    """Keys that cannot be used are made anew, and the kubeconfig fits them."""
    with folder() as work:
        with up(args, work / "data") as (kubeconfig, _, _):
            Raw(kubeconfig).create(CONFIG_MAPS, config_map("kept"))
        pki = work / "data/pki"
        for files in (["server.crt"], ["server.key"], ["admin.crt"], ["ca.key"], ["ca.crt", "token"], ["admin.key", "server.crt"]):
            for name in files:
                (pki / name).write_bytes(os.urandom(100))
            with up(args, work / "data", "--no-manager") as (kubeconfig, _, _):
                raw = Raw(kubeconfig)
                raw.get(f"{CONFIG_MAPS}/kept")
                raw.close()


def fill_and_recover(args, work, data, fill, free, **popen):
    """Writes until the disk refuses; reads go on; what was acknowledged is there, now and after a restart."""
    kubeconfig, log = work / "kubeconfig", work / "log"
    kept = []
    with open(log, "wb") as out:
        process = subprocess.Popen(up_command(args, work, data), stdout=out, stderr=out, stdin=subprocess.DEVNULL, **popen)
    try:
        wait(kubeconfig.exists, "the server", 60, process, log)
        raw = Raw(kubeconfig)
        raw.create(FLAVORS, flavor())
        raw.create(CLUSTER_QUEUES, cluster_queue("queue"))
        raw.create(LOCAL_QUEUES, local_queue("local", "queue"))
        refusals = 0
        fill()
        until = time.monotonic() + 60
        while refusals < 5:
            check(time.monotonic() < until, "the disk does not get full")
            name = f"filler-{len(kept)}-{refusals}"
            answer = raw.send("POST", CONFIG_MAPS, config_map(name, data={"a": os.urandom(100_000).hex()}))
            if answer.ok:
                kept.append(name)
                continue
            refusals += 1
            refused(answer, answer.status, "disk" if answer.status == 500 else "")
            check(answer.status in (500, 503, 507), f"{answer.status} {answer.text[:300]}")
            check(raw.send("GET", f"{CONFIG_MAPS}/{name}").status == 404, "a refused write is there")
        # The manager and the stand-ins have work that they cannot store.
        raw.send("POST", JOBS, job("late", "local"))
        check(len(raw.get(CONFIG_MAPS)["items"]) >= len(kept), "reads do not go on")
        raw.alive()
        check(process.poll() is None, f"the server ended: {_server.tail(log)}")
        if free:
            free()
            wait(lambda: raw.send("POST", CONFIG_MAPS, config_map("after")).status in (201, 409), "writes when there is space again")
            raw.send("POST", JOBS, job("late", "local"))
            wait(lambda: is_true(raw.get(f"{JOBS}/late"), "Complete"), "the manager to go on when there is space again", 60)
        raw.close()
    finally:
        _server.stop(process)
    check(process.returncode == 0, f"exit code {process.returncode}: {_server.tail(log)}")
    with up(args, data, "--no-manager") as (kubeconfig, _, _):
        raw = Raw(kubeconfig)
        names = {i["metadata"]["name"] for i in raw.get(CONFIG_MAPS)["items"]}
        raw.close()
    check(not set(kept) - names, f"acknowledged and gone: {sorted(set(kept) - names)[:5]}")


def disk_full_by_limit(args):
    """RLIMIT_FSIZE: the file cannot grow; its signal must not end the process either."""
    with folder() as work:
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4 * MIB, 4 * MIB))
        fill_and_recover(args, work, work / "data", lambda: None, None, preexec_fn=limit)


def disk_full_by_mount(args):
    """A small disk of its own, filled by somebody else and freed again."""
    with folder() as work:
        disk = work / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], check=True)
        try:
            hog = disk / "hog"

            def fill():
                with open(hog, "wb") as out, contextlib.suppress(OSError):
                    out.write(b"x" * (4 * MIB))
            fill_and_recover(args, work, disk / "data", fill, hog.unlink)
        finally:
            subprocess.run(["umount", str(disk)], check=True)


def can_mount():
    if os.geteuid() != 0:
        return False
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", work], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            subprocess.run(["umount", work], check=True)
        return done.returncode == 0


def signals_under_load(args):
    """SIGTERM and SIGINT end it with 0 in good order, SIGKILL at once; each time every acknowledged write is there."""
    with folder() as work:
        acknowledged, lock = {}, threading.Lock()
        for number, each in enumerate((signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP)):
            with up(args, work / "data") as (kubeconfig, process, log):
                check_raw = Raw(kubeconfig)
                stored = {i["metadata"]["name"]: i["data"].get("a") for i in check_raw.get(CONFIG_MAPS)["items"]}
                for name, value in acknowledged.items():
                    check(stored.get(name) == value, f"{name}: {value} was acknowledged, {stored.get(name)} is there")
                if number == 0:
                    check_raw.create(FLAVORS, flavor())
                    check_raw.create(CLUSTER_QUEUES, cluster_queue("queue"))
                    check_raw.create(LOCAL_QUEUES, local_queue("local", "queue"))
                check_raw.close()

                def load(worker, kubeconfig=kubeconfig, number=number):
                    raw = Raw(kubeconfig)
                    with contextlib.suppress(Exception):
                        for n in range(100000):
                            name = f"load-{number}-{worker}-{n}"
                            if n % 10 == 9:
                                raw.send("POST", JOBS, job(name, "local"))
                                continue
                            if not raw.send("POST", CONFIG_MAPS, config_map(name, data={"a": str(n)})).ok:
                                break
                            with lock:
                                acknowledged[name] = str(n)
                before = len(acknowledged)
                threads = [threading.Thread(target=load, args=(n,)) for n in range(3)]
                watch = Raw(kubeconfig).tls()
                for thread in threads:
                    thread.start()
                wait(lambda: len(acknowledged) > before + 60, "load", 30, process, log)
                process.send_signal(each)
                started = time.monotonic()
                code = process.wait(20)
                check(code == (0 if each != signal.SIGKILL else -9), f"{each.name}: ended with {code}: {_server.tail(log)}")
                check(time.monotonic() - started < 10, f"{each.name}: took {time.monotonic() - started:.1f} s")
                for thread in threads:
                    thread.join(30)
                watch.close()
        with up(args, work / "data", "--no-manager") as (kubeconfig, _, _):
            raw = Raw(kubeconfig)
            stored = {i["metadata"]["name"]: i["data"].get("a") for i in raw.get(CONFIG_MAPS)["items"]}
            raw.close()
        check(all(stored.get(n) == v for n, v in acknowledged.items()), "an acknowledged write is gone")


def signal_while_starting(args):
    """A signal before it is ready ends it too."""
    with folder() as work:
        for delay in (0, 1, 2, 3):
            process = subprocess.Popen(up_command(args, work, work / "data"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL)
            try:
                marks = [work / "data", work / "data/up.lock", work / "data/state.db", work / "data/state.db-wal"]
                wait(marks[delay].exists, "the folder", 20, process)
                process.send_signal(signal.SIGTERM)
                output, _ = process.communicate(timeout=20)
                check(process.returncode in (0, -15, 143), f"{process.returncode}: {output[-500:]}")
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
            shutil.rmtree(work / "data", ignore_errors=True)
        # It also ends while it waits: here for the database, which SQLite waits for five seconds.
        with up(args, work / "data", "--no-manager"):
            pass
        with contextlib.closing(sqlite3.connect(work / "data/state.db", isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode=DELETE")
            db.execute("BEGIN EXCLUSIVE")
            (work / "data/up.lock").unlink()
            process = subprocess.Popen(up_command(args, work, work / "data"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL)
            try:
                wait((work / "data/up.lock").exists, "the folder", 20, process)
                process.send_signal(signal.SIGTERM)
                output, _ = process.communicate(timeout=20)
                check(process.returncode == 143 and b"before it was ready" in output, f"{process.returncode}: {output[-500:]}")
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()


def bad_files_and_flags(args):
    with folder() as work:
        (work / "file").write_text("x")
        (work / "foreign").write_text("apiVersion: v1\nkind: Config\ncurrent-context: production\n")
        start = [args.kueue, "up", "--memory", "--port=0", f"--kubeconfig={work}/kubeconfig"]
        for flags, code, words in (
                (["--port=70000"], 2, ["--port"]), (["--port=-1"], 2, ["--port"]), (["--port=4294967297"], 2, ["--port"]), (["--port=x"], 2, ["--port"]),
                (["--port=99999999999999999999"], 2, ["--port"]), (["-v", "x"], 2, ["'x'", "-v"]), (["--address=nowhere"], 1, ["nowhere"]), (["--address=203.0.113.9"], 1, ["203.0.113.9"]),
                (["--nodes=4x"], 2, ["4x"]), (["--nodes=0x8cpu"], 2, ["0x8cpu"]), (["--nodes=4x-8cpu"], 2, ["8cpu"]), (["--nodes=9999999999x1cpu"], 2, ["9999999999"]),
                (["--nodes=1xlotscpu"], 2, ["lots"]), (["--stand-ins=butler"], 2, ["butler"]), (["--frobnicate"], 2, ["frobnicate"]), (["extra"], 2, ["extra"]),
                ([f"--config={work}/absent"], 1, [f"{work}/absent"]), ([f"--config={work}"], 1, [str(work)]), ([f"--kubeconfig={work}/foreign"], 1, ["foreign", "left alone"]),
                ([f"--kubeconfig={work}"], 1, [str(work)]), ([f"--kubeconfig={work}/file/kubeconfig"], 1, [f"{work}/file"])):
            fails(start + flags, code, *words)
        check("production" in (work / "foreign").read_text(), "a foreign kubeconfig was overwritten")
        for data in (work / "file", work / "file/below", "/proc/nowhere", "/dev/null"):
            fails(up_command(args, work, data), 1, str(data))
        bad_configs = {
            "not: [valid": "config", "": None, "a: b": "kind", "kind: Configuration": "apiVersion",
            "apiVersion: config.kueue.x-k8s.io/v9\nkind: Configuration": "v9", "apiVersion: v1\nkind: Pod": "Pod",
            "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmetricz: {}": "metricz",
            "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmetrics: 3": "metrics",
            "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nintegrations: {frameworks: [nonsense]}": "integrations.frameworks",
            "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfeatureGates: {Nonsense: true}": "Nonsense",
            "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nwaitForPodsReady: {timeout: -1s}": "waitForPodsReady.timeout",
            "a: &a [*a]": "", "\x00\x01": ""}
        for text, word in bad_configs.items():
            if word is None:
                continue
            (work / "config.yaml").write_text(text)
            for command in (start + [f"--config={work}/config.yaml"],
                            [args.kueue, "manager", f"--config={work}/config.yaml", f"--kubeconfig={work}/absent"]):
                done = None
                try:
                    fails(command, 1, word)
                except AssertionError as error:
                    if "exit code 2" not in str(error):
                        raise AssertionError(f"{text!r}: {error}") from None
        config = work / "good.yaml"
        config.write_text("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmetrics: {bindAddress: '127.0.0.1:0'}\n"
                          "health: {healthProbeBindAddress: '127.0.0.1:0'}\nwebhook: {host: 127.0.0.1, port: 1}\n")
        for path, text, word in ((work / "absent", None, "absent"), (work, None, str(work)), (work / "k", "garbage: [", "k"), (work / "k", "", "k"),
                                 (work / "k", "current-context: a", "a"), (work / "k", "\x00", "k")):
            if text is not None:
                path.write_text(text)
            fails([args.kueue, "manager", f"--config={config}", f"--kubeconfig={path}"], 1, word)
            fails([args.kueue, "get", "jobs", f"--kubeconfig={path}"], 1, word)
        for flags in (["--feature-gates=Nonsense=true"], ["--nonsense"], ["--zap-log-level=loud"], ["--scheduler=perhaps"], ["--requeue-batch-period=soon"]):
            fails([args.kueue, "manager", *flags], 1 if "gates" in flags[0] else 2, flags[0].lstrip("-").split("=")[0][:7])


ALONE = [two_servers_on_one_folder, port_in_use, names_what_is_not_built, newer_folder, damaged_folder, damaged_certificates, disk_full_by_limit,
         signals_under_load, signal_while_starting, bad_files_and_flags]
