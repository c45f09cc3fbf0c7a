#!/usr/bin/env python3
"""What a pending Workload costs in server and manager together, and how long a server with many objects takes to be ready.

Usage: pending_memory.py --kueue BINARY [--count N]
Workloads have one podset and a template of about 2 KB; the ClusterQueue has no quota for them, so all stay pending.
"""

import argparse
import pathlib
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "e2e"))
sys.path.insert(0, str(ROOT / "test" / "scenarios" / "player"))
sys.dont_write_bytecode = True

import _server  # noqa: E402
from kube import Client, Kubeconfig  # noqa: E402

THREADS = 8
API = "/apis/kueue.x-k8s.io/v1beta2"


def resident_bytes(process):
    fields = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(next(l for l in fields.splitlines() if l.startswith("VmRSS")).split()[1]) * 1024


def workload(number):
    env = [{"name": f"SETTING_{i}", "value": f"a value of ordinary length {i}"} for i in range(24)]
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": f"w-{number}"},
            "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 2, "template": {"spec": {
                "restartPolicy": "Never", "containers": [
                    {"name": "main", "image": "busybox", "env": env,
                     "resources": {"requests": {"cpu": "1", "memory": "200Mi"}}}]}}}]}}


def post(client, path, body):
    answer = client.request("POST", path, body)
    if not answer.ok:
        raise RuntimeError(f"POST {path}: {answer.status} {answer.text[:300]}")


def fill(kubeconfig, count):
    client = Client(Kubeconfig(kubeconfig), "bench")
    kueue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    post(client, f"{API}/resourceflavors", {**kueue, "kind": "ResourceFlavor", "metadata": {"name": "f"}})
    post(client, f"{API}/clusterqueues", {**kueue, "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": {
        "namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [
            {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 0}, {"name": "memory", "nominalQuota": 0}]}]}]}})
    post(client, f"{API}/namespaces/default/localqueues",
         {**kueue, "kind": "LocalQueue", "metadata": {"name": "main"}, "spec": {"clusterQueue": "q"}})

    def work(part):
        own = Client(Kubeconfig(kubeconfig), "bench")
        for number in range(part, count, THREADS):
            post(own, f"{API}/namespaces/default/workloads", workload(number))

    threads = [threading.Thread(target=work, args=(part,)) for part in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    _server.wait_until(lambda: client.get(f"{API}/clusterqueues/q").json().get("status", {}).get("pendingWorkloads") == count,
                       "all Workloads to be pending", 120)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kueue", required=True)
    parser.add_argument("--count", type=int, default=10_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kueue-bench-") as data:
        with _server.embedded(args.kueue, "--nodes=none", memory=False, data_dir=data) as (kubeconfig, process, _):
            before, started = resident_bytes(process), time.monotonic()
            fill(kubeconfig, args.count)
            print(f"{args.count} Workloads created one by one and pending after {time.monotonic() - started:.1f} s")
            print(f"resident memory per pending Workload, just after: {(resident_bytes(process) - before) / args.count:.0f} bytes")
        started = time.monotonic()
        with _server.embedded(args.kueue, "--nodes=none", memory=False, data_dir=data) as (kubeconfig, process, _):
            print(f"ready again with {args.count} stored Workloads after {time.monotonic() - started:.2f} s")
            print(f"resident memory per pending Workload, after a restart: {(resident_bytes(process) - before) / args.count:.0f} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
