#!/usr/bin/env python3
"""What a pending Workload costs in server and manager together, and how long a server with many objects takes to be ready.

Usage: pending_memory.py --kueue BINARY [--count N]
Workloads have one podset and a template of about 2 KB; the ClusterQueue has no quota for them, so all stay pending. Once
all have the same template (a parameter sweep, the usual case), once each has another one, and once each belongs to a Job
with another one; the Job's cost is in that figure. Memory is what the process has resident (server and manager are one
process; the stand-in Job controller, which a real cluster does not have there, is left out), without what it had before
the first Workload, when everything has settled.
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
MEMORY_AIM_BYTES = 8192
READY_AIM_S = 1.0
API = "/apis/kueue.x-k8s.io/v1beta2"


def resident_bytes(process):
    fields = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(next(l for l in fields.splitlines() if l.startswith("VmRSS")).split()[1]) * 1024


def pod_template(number, different):
    of = f" of {number}" if different else ""
    env = [{"name": f"SETTING_{i}", "value": f"a value of ordinary length {i}{of}"} for i in range(24)]
    memory = f"{200 + number % 100}Mi" if different else "200Mi"
    return {"spec": {"restartPolicy": "Never", "containers": [
        {"name": "main", "image": "busybox", "env": env, "resources": {"requests": {"cpu": "1", "memory": memory}}}]}}


def workload(number, different):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": f"w-{number}"},
            "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 2, "template": pod_template(number, different)}]}}


def job(number):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": f"j-{number}", "labels": {"kueue.x-k8s.io/queue-name": "main"}},
            "spec": {"parallelism": 2, "completions": 2, "suspend": True, "template": pod_template(number, True)}}


def settled_bytes(process):
    """Resident bytes when they have not changed by more than 1 % for two seconds."""
    last, since = resident_bytes(process), time.monotonic()

    def settled():
        nonlocal last, since
        now = resident_bytes(process)
        if abs(now - last) > last / 100:
            last, since = now, time.monotonic()
        return time.monotonic() >= since + 2

    _server.wait_until(settled, "the memory to settle", 60, process)
    return resident_bytes(process)


def post(client, path, body):
    answer = client.request("POST", path, body)
    if not answer.ok:
        raise RuntimeError(f"POST {path}: {answer.status} {answer.text[:300]}")


def fill(kubeconfig, count, different=False, jobs=False):
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
            if jobs:
                post(own, "/apis/batch/v1/namespaces/default/jobs", job(number))
            else:
                post(own, f"{API}/namespaces/default/workloads", workload(number, different))

    threads = [threading.Thread(target=work, args=(part,)) for part in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    _server.wait_until(lambda: client.get(f"{API}/clusterqueues/q").json().get("status", {}).get("pendingWorkloads") == count,
                       "all Workloads to be pending", 300)


def measure(kueue, count, different, jobs=False):
    """Prints the figures of one case; returns bytes per Workload and seconds until ready."""
    flags = ["--nodes=none", "--stand-ins=scheduler"]
    print(f"{count} {'Jobs with their ' if jobs else ''}Workloads, {'each with another template' if different else 'all with the same template'}")
    with tempfile.TemporaryDirectory(prefix="kueue-bench-") as data:
        with _server.embedded(kueue, *flags, memory=False, data_dir=data) as (kubeconfig, process, _):
            before, started = settled_bytes(process), time.monotonic()
            fill(kubeconfig, count, different, jobs)
            print(f"  created one by one and pending after      {time.monotonic() - started:8.1f} s")
            each = (settled_bytes(process) - before) / count
            print(f"  resident memory per pending Workload      {each:8.0f} bytes")
        started = time.monotonic()
        with _server.embedded(kueue, *flags, memory=False, data_dir=data) as (kubeconfig, process, _):
            ready = time.monotonic() - started
            print(f"  ready again after a restart               {ready:8.2f} s")
            again = (settled_bytes(process) - before) / count
            print(f"  resident memory per Workload, restarted   {again:8.0f} bytes")
    return max(each, again), ready


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kueue", required=True)
    parser.add_argument("--count", type=int, default=10_000)
    args = parser.parse_args()
    same, ready = measure(args.kueue, args.count, False)
    different, ready_different = measure(args.kueue, args.count, True)
    with_jobs, _ = measure(args.kueue, args.count, True, jobs=True)
    ready = max(ready, ready_different)

    def verdict(got, aim):
        return "met" if got <= aim else "MISSED"
    print(f"aims: a pending Workload at most {MEMORY_AIM_BYTES} bytes: {verdict(same, MEMORY_AIM_BYTES)} ({same:.0f}), with templates "
          f"that all differ {verdict(different, MEMORY_AIM_BYTES)} ({different:.0f}), with its Job {verdict(with_jobs, MEMORY_AIM_BYTES)} "
          f"({with_jobs:.0f}); ready with {args.count} objects in at most "
          f"{READY_AIM_S} s: {verdict(ready, READY_AIM_S)} ({ready:.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
