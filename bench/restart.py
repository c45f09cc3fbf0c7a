#!/usr/bin/env python3
"""A manager that finds 50,000 pending and 5,000 running Workloads: seconds from its start to ready and to its first admission.

Usage: restart.py --kueue BINARY [--pending N] [--running N]
The manager is a process of its own beside an embedded server, over HTTPS. First admission: a Workload of the highest
priority is made while the manager is down; room is there for it. Resident memory is that of the manager alone, settled.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "test" / "e2e"), str(ROOT / "test" / "scenarios" / "player"), str(ROOT / "bench")]
sys.dont_write_bytecode = True

import _server  # noqa: E402
from _faults import cpu_seconds  # noqa: E402
from kube import Client, Kubeconfig, fetch  # noqa: E402
from manager import free_ports  # noqa: E402
from pending_memory import settled_bytes  # noqa: E402

API = "/apis/kueue.x-k8s.io/v1beta2"
WORKLOADS = f"{API}/namespaces/default/workloads"
START_AIM_S, MEMORY_AIM_MIB = 5.0, 400
THREADS = 8


def workload(name, queue, priority=0):
    env = [{"name": f"SETTING_{i}", "value": f"a value of ordinary length {i}"} for i in range(24)]
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": name},
            "spec": {"queueName": queue, "priority": priority, "podSets": [{"name": "main", "count": 1, "template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox", "env": env,
                                                          "resources": {"requests": {"cpu": "1"}}}]}}}]}}


def queue(name, cpu):
    return [("clusterqueues", {"kind": "ClusterQueue", "metadata": {"name": name}, "spec": {
        "namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
            {"name": "plain", "resources": [{"name": "cpu", "nominalQuota": cpu}]}]}]}}),
            ("namespaces/default/localqueues", {"kind": "LocalQueue", "metadata": {"name": name}, "spec": {"clusterQueue": name}})]


class Manager:
    def __init__(self, kueue, kubeconfig, work):
        webhook, health = free_ports(2)
        self.health, self.kubeconfig, self.log = f"http://127.0.0.1:{health}/readyz", Kubeconfig(kubeconfig), pathlib.Path(work) / "manager.log"
        config = pathlib.Path(work) / "config.yaml"
        config.write_text(json.dumps({
            "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "metrics": {"bindAddress": "0"},
            "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"}, "webhook": {"host": "127.0.0.1", "port": webhook},
            "featureGates": {"VisibilityOnDemand": False}, "leaderElection": {"leaderElect": False}}))
        self.command = [kueue, "manager", f"--config={config}", f"--kubeconfig={kubeconfig}"]

    def start(self):
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(self.command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)

    def ready(self):
        try:
            return fetch(self.health, self.kubeconfig, timeout=5).status == 200
        except OSError:
            return False


def post(client, path, body):
    answer = client.request("POST", path, {"apiVersion": "kueue.x-k8s.io/v1beta2"} | body)
    if not answer.ok:
        raise RuntimeError(f"POST {path}: {answer.status} {answer.text[:300]}")


def reserved(client, name):
    return (client.get(f"{API}/clusterqueues/{name}").json().get("status") or {}).get("reservingWorkloads", 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kueue", required=True)
    parser.add_argument("--pending", type=int, default=50_000)
    parser.add_argument("--running", type=int, default=5_000)
    args = parser.parse_args()
    kueue = os.path.abspath(args.kueue)
    with tempfile.TemporaryDirectory(prefix="kueue-restart-") as work, \
            _server.embedded(kueue, "--no-manager", "--stand-ins=none", "--nodes=none") as (kubeconfig, server, _):
        client, manager = Client(Kubeconfig(kubeconfig), "restart-bench"), Manager(kueue, kubeconfig, work)
        post(client, f"{API}/resourceflavors", {"kind": "ResourceFlavor", "metadata": {"name": "plain"}})
        for path, body in queue("running", args.running) + queue("full", 0) + queue("first", 1):
            post(client, f"{API}/{path}", body)
        names = [(f"r-{n}", "running") for n in range(args.running)] + [(f"p-{n}", "full") for n in range(args.pending)]
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda one: post(client, WORKLOADS, workload(*one)), names))
        manager.start()
        try:
            _server.wait_until(lambda: reserved(client, "running") == args.running, "the running Workloads", 900, manager.process, manager.log)
            _server.stop(manager.process)
            post(client, WORKLOADS, workload("first", "first", 100))
            started, server_before = time.monotonic(), cpu_seconds(server.pid)
            manager.start()
            _server.wait_until(manager.ready, "the manager", 120, manager.process, manager.log)
            ready = time.monotonic() - started
            first = f"{WORKLOADS}/first"
            _server.wait_until(lambda: (client.get(first).json().get("status") or {}).get("admission"), "the first admission", 120,
                               manager.process, manager.log)
            admitted = time.monotonic() - started
            cpu = cpu_seconds(manager.process.pid), cpu_seconds(server.pid) - server_before
            mib = settled_bytes(manager.process) / (1 << 20)
        finally:
            if manager.process.poll() is None:
                _server.stop(manager.process)
    good = admitted <= START_AIM_S and mib <= MEMORY_AIM_MIB
    print(f"{args.pending} pending and {args.running} running Workloads: ready after {ready:.2f} s, first admission after {admitted:.2f} s "
          f"(aim {START_AIM_S:g} s; CPU: manager {cpu[0]:.2f} s, server {cpu[1]:.2f} s), manager {mib:.0f} MiB (aim {MEMORY_AIM_MIB} MiB): {'ok' if good else 'MISSED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
