#!/usr/bin/env python3
"""Load and kill -9, again and again: no acknowledged write lost, no Workload admitted twice, no reservation leaked.

Usage: crash.py --kueue BINARY [--rounds N] [--seed S]
Each round starts `kueue up` on the same data folder, checks everything that was acknowledged before, lets four clients
create, change and delete ConfigMaps and Jobs, and kills the server at a random moment of the load.
"""

import argparse
import http.client
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "scenarios" / "player"))
sys.dont_write_bytecode = True

import _server  # noqa: E402
from kube import Client, Kubeconfig  # noqa: E402

QUOTA_CPU = 6
STALL_S = 20  # Jobs that can run take turns of about a second
CLIENTS = 4
QUEUES = [
    ("ResourceFlavor", "/apis/kueue.x-k8s.io/v1beta2/resourceflavors", {"metadata": {"name": "crash-flavor"}}),
    ("ClusterQueue", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues", {
        "metadata": {"name": "crash-queue"},
        "spec": {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
            {"name": "crash-flavor", "resources": [{"name": "cpu", "nominalQuota": str(QUOTA_CPU)}]}]}]}}),
    ("LocalQueue", "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues", {
        "metadata": {"name": "crash", "namespace": "default"}, "spec": {"clusterQueue": "crash-queue"}}),
]
CLUSTER_QUEUE = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/crash-queue"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"


class Ledger:
    """What the server has acknowledged, and what was under way when it died."""

    def __init__(self):
        self.values = {}      # ConfigMap name -> last acknowledged value
        self.uncertain = {}   # name -> values that may or may not have been stored; None = deleted
        self.jobs = set()     # acknowledged Jobs that were not deleted since
        self.lock = threading.Lock()
        self.writes = 0


def config_map(name, value):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": str(value)}}


def job(name, cpu):
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "crash"}},
            "spec": {"parallelism": 1, "completions": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [
                {"name": "main", "image": "busybox", "command": ["sleep", "0.2"],
                 "resources": {"requests": {"cpu": str(cpu)}}}]}}}}


class OneTry(Client):
    """A client that does not try again: what was under way when the server died stays uncertain."""

    def request(self, method, path, body=None):
        return self._exchange(method, path, body, "application/json", None)


class Load(threading.Thread):
    """One client: writes until the server is gone, and books what was acknowledged."""

    def __init__(self, kubeconfig, ledger, number, seed):
        super().__init__(daemon=True)
        self.client, self.ledger = OneTry(Kubeconfig(kubeconfig), f"crash-client-{number}"), ledger
        self.random, self.number, self.serial = random.Random(seed), number, 0

    def run(self):
        try:
            while True:
                self._step()
        except (OSError, ValueError, http.client.HTTPException):
            pass  # the server was killed

    def _step(self):
        self.serial += 1
        if self.random.random() < 0.02:
            name = f"crash-{self.number}-{self.random.getrandbits(40):x}"
            answer = self.client.request("POST", JOBS, job(name, self.random.choice([1, 2, 3])))
            if answer.ok:
                with self.ledger.lock:
                    self.ledger.jobs.add(name)
                    self.ledger.writes += 1
            return
        name = f"cm-{self.number}-{self.random.randrange(40)}"
        with self.ledger.lock:
            known = self.ledger.values.get(name)
            value = None if known is not None and self.random.random() < 0.2 else f"{self.serial}-{self.random.getrandbits(32)}"
            self.ledger.uncertain.setdefault(name, set()).add(value)
        if value is None:
            answer = self.client.request("DELETE", f"{CONFIG_MAPS}/{name}")
        elif known is None:
            answer = self.client.request("POST", CONFIG_MAPS, config_map(name, value))
        else:
            answer = self.client.request("PUT", f"{CONFIG_MAPS}/{name}", config_map(name, value))
        with self.ledger.lock:
            if answer.ok:
                self.ledger.values[name] = value
                if value is None:
                    del self.ledger.values[name]
                self.ledger.writes += 1
            self.ledger.uncertain.pop(name, None)


def listing(client, path):
    answer = client.request("GET", path)
    if not answer.ok:
        raise RuntimeError(f"GET {path}: {answer.status} {answer.text[:300]}")
    return {item["metadata"]["name"]: item for item in answer.json()["items"]}


def check_writes(client, ledger):
    stored = listing(client, CONFIG_MAPS)
    stored = {n: o["data"]["value"] for n, o in stored.items() if n.startswith("cm-")}
    for name in set(stored) | set(ledger.values) | set(ledger.uncertain):
        allowed = {ledger.values.get(name)} | ledger.uncertain.get(name, set())
        if stored.get(name) not in allowed:
            raise RuntimeError(f"ConfigMap {name}: stored {stored.get(name)!r}, acknowledged one of {allowed!r}")
        if name in ledger.uncertain:  # settled now
            if name in stored:
                ledger.values[name] = stored[name]
            else:
                ledger.values.pop(name, None)
    ledger.uncertain.clear()
    jobs = listing(client, JOBS)
    lost = ledger.jobs - set(jobs)
    if lost:
        raise RuntimeError(f"acknowledged Jobs are gone: {sorted(lost)[:5]}")


def condition(workload, kind):
    return next((c["status"] == "True" for c in workload.get("status", {}).get("conditions", []) if c["type"] == kind), False)


def check_reservations(client):
    """Reserved CPUs never exceed the quota, and one Workload stands for each Job."""
    used, owners, holders = 0, {}, []
    for name, workload in listing(client, WORKLOADS).items():
        for owner in workload["metadata"].get("ownerReferences", []):
            if owner["uid"] in owners and not condition(workload, "Finished"):
                raise RuntimeError(f"two Workloads for Job {owner['name']}: {name} and {owners[owner['uid']]}")
            owners[owner["uid"]] = name
        if condition(workload, "QuotaReserved") and not condition(workload, "Finished"):
            for assignment in workload["status"]["admission"]["podSetAssignments"]:
                used += int(assignment["resourceUsage"]["cpu"])
            holders.append({"name": name, "deleting": workload["metadata"].get("deletionTimestamp"),
                            "version": workload["metadata"]["resourceVersion"], "status": workload["status"]})
    if used > QUOTA_CPU:
        queue = client.request("GET", CLUSTER_QUEUE).json().get("status")
        raise RuntimeError(f"{used} CPUs are reserved, the quota is {QUOTA_CPU}: {json.dumps(holders, indent=1)}; "
                           f"the ClusterQueue says {json.dumps(queue, indent=1)}")


def wait_settled(client):
    """All Jobs finish, one after the other without a pause; then nothing is reserved, and the ClusterQueue says so. How long it
    takes depends on how many there are, so what is bounded is the time until the next one."""
    finished, total = progress(client)
    while finished < total:
        before = finished
        _server.wait_until(lambda: progress(client)[0] > before, f"another Job to finish ({before} of {total} have)", STALL_S)
        finished, total = progress(client)
    _server.wait_until(lambda: released(client), "every reservation to be released", STALL_S)


def progress(client):
    jobs = listing(client, JOBS).values()
    return sum(condition(item, "Complete") for item in jobs), len(jobs)


def released(client):
    queue = client.request("GET", CLUSTER_QUEUE).json()
    status = queue.get("status", {})
    total = sum(int(r.get("total", "0") or 0) for f in status.get("flavorsReservation", []) for r in f["resources"])
    return (status.get("pendingWorkloads", 0), status.get("reservingWorkloads", 0), total) == (0, 0, 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kueue", required=True)
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("KUEUE_CRASH_ROUNDS", "20")))
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print(f"{args.rounds} rounds, seed {args.seed}", flush=True)
    ledger, dice = Ledger(), random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="kueue-crash-") as work:
        for number in range(args.rounds + 1):
            last = number == args.rounds
            with _server.embedded(args.kueue, "--nodes=2x8cpu,32Gi", memory=False, data_dir=f"{work}/data") as (
                    kubeconfig, process, _):
                client = Client(Kubeconfig(kubeconfig), "crash-checker")
                if number == 0:
                    for _, path, body in QUEUES:
                        answer = client.request("POST", path, {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": _} | body)
                        if not answer.ok:
                            raise RuntimeError(f"POST {path}: {answer.status} {answer.text[:300]}")
                check_writes(client, ledger)
                check_reservations(client)
                if last:
                    wait_settled(client)
                    break
                clients = [Load(kubeconfig, ledger, n, dice.getrandbits(64)) for n in range(CLIENTS)]
                for each in clients:
                    each.start()
                until, before = time.monotonic() + 10, ledger.writes
                wanted = before + dice.randrange(20, 300)
                _server.wait_until(lambda: ledger.writes >= wanted or time.monotonic() > until, "load", 20)
                check_reservations(client)
                process.send_signal(signal.SIGKILL)
                process.wait()
                for each in clients:
                    each.join(10)
            if number % 10 == 9:
                print(f"round {number + 1}: {ledger.writes} writes acknowledged, {len(ledger.jobs)} Jobs", flush=True)
    print(f"{ledger.writes} acknowledged writes and {len(ledger.jobs)} Jobs over {args.rounds} kills: nothing lost")
    print("1 passed, 0 failed, 0 skipped")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        print(f"crash test failed: {error}")
        print("0 passed, 1 failed, 0 skipped")
        sys.exit(1)
