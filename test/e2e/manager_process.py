#!/usr/bin/env python3
"""`kueue manager` as a process: says what it waits for, leads, and ends well on SIGTERM.

Usage: manager_process.py [--kueue BINARY]
"""

import argparse
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import _server  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


def free_ports(number):
    """Ports that nobody listens on now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def check(condition, what):
    if not condition:
        raise RuntimeError(what)
    print(f"ok: {what}", flush=True)


def play(kueue, kubeconfig, work):
    def command(*words, **options):
        return subprocess.run([kueue, *words, "--kubeconfig", kubeconfig], check=True, text=True, timeout=60,
                              stdout=subprocess.PIPE, **options).stdout

    crds = subprocess.run([kueue, "crds"], check=True, text=True, stdout=subprocess.PIPE, timeout=60).stdout
    command("apply", "-f", "-", input=crds)
    metrics, health, webhook = free_ports(3)
    config = work / "config.yaml"
    config.write_text(json.dumps({
        "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
        "metrics": {"bindAddress": f"127.0.0.1:{metrics}"}, "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "webhook": {"host": "127.0.0.1", "port": webhook}, "leaderElection": {"leaderElect": True}}))
    log = work / "manager.log"
    with open(log, "wb") as out:
        process = subprocess.Popen([kueue, "manager", f"--config={config}", f"--kubeconfig={kubeconfig}"], stdout=out,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    try:
        def logged(text):
            _server.wait_until(lambda: text in log.read_text(), f"the log line {text!r}", 60, process, log)
            print(f"ok: it logs {text!r}", flush=True)

        logged("create its namespace")
        command("apply", "-f", "-", input="{apiVersion: v1, kind: Namespace, metadata: {name: kueue-system}}")
        logged("Successfully acquired lease")
        command("apply", "-f", str(ROOT / "examples/quick-start/1-queues.yaml"))
        _server.wait_until(lambda: '"Ready"' in command("get", "cq", "cluster-queue", "-o", "json"),
                           "an active ClusterQueue", 60, process, log)
        process.send_signal(signal.SIGTERM)
        check(process.wait(30) == 0, "SIGTERM ends it with code 0")
        check("lease was lost" not in log.read_text(), "it does not take its own end for a lost lease")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kueue", default=str(ROOT / "build/dev/kueue"))
    kueue = str(pathlib.Path(parser.parse_args().kueue).resolve())
    with _server.embedded(kueue, "--no-manager", "--nodes=none") as (kubeconfig, _, _), \
            tempfile.TemporaryDirectory(prefix="kueue-manager-") as work:
        try:
            play(kueue, kubeconfig, pathlib.Path(work))
        except (RuntimeError, subprocess.SubprocessError) as error:
            print(f"failed: {error}")
            print("0 passed, 1 failed, 0 skipped")
            return 1
    print("1 passed, 0 failed, 0 skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
