#!/usr/bin/env python3
"""Two replicas of the manager under kill -9, SIGSTOP and a bad network: nothing is admitted twice, every Job runs once.

Usage: failover.py --kueue BINARY [--rounds N] [--seed S]      (KUEUE_HA_ROUNDS sets N, KUEUE_HA_LEASE the seconds of the lease)
Each replica reaches the API server through a proxy of its own, which cuts, holds, delays, loses answers and repeats requests.
A watch looks at every change of every Workload and Pod; what it sees must hold at each moment. The last line counts rounds.
"""

import argparse
import base64
import collections
import contextlib
import http.client
import json
import os
import pathlib
import random
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

import yaml  # noqa: E402

import _proxy  # noqa: E402
import _server  # noqa: E402
from _faults import CLUSTER_QUEUES, FLAVORS, JOBS, LOCAL_QUEUES, WORKLOADS, Raw, cluster_queue, flavor, insecure, is_true, job, local_queue  # noqa: E402
from _faults_cluster import make_certificate  # noqa: E402
from _tally import Tally  # noqa: E402

QUOTA = 4
PODS = "/api/v1/namespaces/default/pods"
LEASE_S = int(os.environ.get("KUEUE_HA_LEASE", "3"))  # longer on a machine so busy that the leader cannot renew it in time
TAKEOVER_S = 12 + LEASE_S


class Replica:
    """One `kueue manager` behind its proxy; may be started again after its end."""

    def __init__(self, kueue, name, work, document, raw):
        self.kueue, self.name, self.work = kueue, name, pathlib.Path(work)
        self.proxy = _proxy.Proxy(_proxy.server_context(f"{work}/tls.crt", f"{work}/tls.key"), raw.address, raw.context)
        copy = json.loads(json.dumps(document))
        copy["clusters"][0]["cluster"] = {"server": f"https://127.0.0.1:{self.proxy.port}", "certificate-authority": f"{work}/tls.crt"}
        (self.work / f"{name}.kubeconfig").write_text(yaml.safe_dump(copy))
        self.webhook, self.metrics, self.health, self.visibility = free_ports(4)
        (self.work / f"{name}.yaml").write_text(json.dumps({
            "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
            "metrics": {"bindAddress": f"127.0.0.1:{self.metrics}"}, "health": {"healthProbeBindAddress": f"127.0.0.1:{self.health}"},
            "webhook": {"host": "127.0.0.1", "port": self.webhook, "certDir": str(work)}, "internalCertManagement": {"enable": False},
            "visibilityServer": {"bindAddress": "127.0.0.1", "bindPort": self.visibility},
            "leaderElection": {"leaderElect": True, "leaseDuration": f"{LEASE_S}s", "renewDeadline": f"{LEASE_S * 2 // 3}s",
                               "retryPeriod": "500ms"}}))
        self.log, self.process, self.starts = self.work / f"{name}.log", None, 0
        self.start()

    def start(self):
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(
                [self.kueue, "manager", f"--config={self.work / self.name}.yaml", f"--kubeconfig={self.work / self.name}.kubeconfig",
                 "--metrics-plain-http=true", "--zap-log-level=2"], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env={k: v for k, v in os.environ.items() if k != "KUBECONFIG"} | {"HOME": str(self.work)})
        self.starts += 1

    def revive(self):
        """Starts it again when it ended, which is what a Deployment does; a lost lease is a reason to end, a crash is not."""
        if self.process.poll() is None:
            return
        if self.process.returncode not in (-signal.SIGKILL, 0, 1):
            raise RuntimeError(f"replica {self.name} ended with {self.process.returncode}: {_server.tail(self.log)}")
        self.start()

    def send(self, signal_number):
        if self.process.poll() is None:
            self.process.send_signal(signal_number)

    def fetch(self, port, path, tls=False, token=None, method="GET", body=None):
        kind = http.client.HTTPSConnection if tls else http.client.HTTPConnection
        more = {"context": insecure()} if tls else {}
        connection = kind("127.0.0.1", port, timeout=5, **more)
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        with contextlib.closing(connection):
            connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def ready(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.fetch(self.health, "/readyz")[0] == 200
        return False

    def role(self):
        """The replica_role that its metrics carry; empty while it does not answer."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            text = self.fetch(self.metrics, "/metrics")[1]
            return text.partition('replica_role="')[2].partition('"')[0]
        return ""

    def close(self):
        self.send(signal.SIGCONT)
        self.proxy.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def free_ports(count):
    import socket
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Auditor:
    """Follows Workloads and Pods from the first version on and checks what must hold after every change."""

    def __init__(self, kubeconfig):
        self.raw, self.problems, self.stopped = Raw(kubeconfig), [], False
        self.trouble = threading.Event()  # there are problems
        self.reserved, self.most = {}, 0
        self.admissions = collections.Counter()   # uid of a Workload -> how often it became admitted
        self.owners, self.pods, self.admitted = {}, collections.defaultdict(set), {}
        self.threads = [threading.Thread(target=self._follow, args=(path, check), daemon=True)
                        for path, check in ((WORKLOADS, self._workload), (PODS, self._pod))]
        for thread in self.threads:
            thread.start()

    def _follow(self, path, check):
        connection = http.client.HTTPSConnection(*self.raw.address, context=self.raw.context, timeout=None)
        try:
            connection.request("GET", f"{path}?watch=true&resourceVersion=0&timeoutSeconds=86400", headers=self.raw.config.headers())
            answer = connection.getresponse()
            while line := answer.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ValueError(line[:300])
                check(event["type"], event["object"])
        except (OSError, ValueError, http.client.HTTPException, AttributeError) as error:
            if not self.stopped:
                self._problem(f"the watch of {path} ended: {error}")
        if not self.stopped and not self.problems:
            self._problem(f"the watch of {path} ended")

    def _workload(self, change, item):
        uid, name = item["metadata"]["uid"], item["metadata"]["name"]
        holds = change != "DELETED" and is_true(item, "QuotaReserved") and not is_true(item, "Finished")
        self.reserved[uid] = sum(int(a["resourceUsage"]["cpu"]) for a in item["status"]["admission"]["podSetAssignments"]) if holds else 0
        used = sum(self.reserved.values())
        self.most = max(self.most, used)
        if used > QUOTA:
            self._problem(f"{used} CPUs are reserved of {QUOTA} after a change of {name}")
        for owner in item["metadata"].get("ownerReferences", []):
            other = self.owners.setdefault(owner["uid"], uid)
            if other != uid:
                self._problem(f"a second Workload, {name}, for Job {owner['name']}")
        admitted = is_true(item, "Admitted")
        if admitted and not self.admitted.get(uid):
            self.admissions[uid] += 1
            if self.admissions[uid] > 1:
                self._problem(f"Workload {name} was admitted {self.admissions[uid]} times")
        if self.admitted.get(uid) and not admitted:
            self._problem(f"Workload {name} lost its admission: {json.dumps(item['status'].get('conditions'))}")
        self.admitted[uid] = admitted

    def _pod(self, _, item):
        for owner in item["metadata"].get("ownerReferences", []):
            self.pods[owner["name"]].add(item["metadata"]["uid"])
            if len(self.pods[owner["name"]]) > 1:
                self._problem(f"Job {owner['name']} has {len(self.pods[owner['name']])} Pods")

    def _problem(self, text):
        self.problems.append(text)
        self.trouble.set()

    def check(self):
        if self.problems:
            raise RuntimeError("; ".join(dict.fromkeys(self.problems[:5])))


class Chaos:
    def __init__(self, args, kubeconfig, work, stack):
        self.args, self.dice, self.raw, self.work = args, random.Random(args.seed), Raw(kubeconfig), work
        document = yaml.safe_load(pathlib.Path(kubeconfig).read_text())
        self.token = (pathlib.Path(work) / "data/pki/token").read_text().strip()
        document["users"] = [{"name": u["name"], "user": {"token": self.token}} for u in document["users"]]
        self.raw.create("/api/v1/namespaces", {"metadata": {"name": "kueue-system"}})
        self.raw.create(FLAVORS, flavor())
        self.raw.create(CLUSTER_QUEUES, cluster_queue("queue", cpu=str(QUOTA)))
        self.raw.create(LOCAL_QUEUES, local_queue("local", "queue"))
        self.auditor = Auditor(kubeconfig)
        stack.callback(setattr, self.auditor, "stopped", True)
        self.replicas = []
        for name in ("a", "b"):
            self.replicas.append(Replica(args.kueue, name, work, document, self.raw))
            stack.callback(self.replicas[-1].close)
        self.tally, self.jobs, self.slowest = Tally(), 0, 0.0

    # ---- what is there

    def listing(self, path):
        return self.raw.get(path)["items"]

    def finished(self):
        return sum(1 for item in self.listing(JOBS) if is_true(item, "Complete"))

    def leader(self):
        """The replica that says it leads, or None."""
        return next((r for r in self.replicas if r.process.poll() is None and r.role() == "leader"), None)

    def logs(self):
        return "\n".join(f"--- {r.name}\n{_server.tail(r.log, 25)}" for r in self.replicas)

    def unfinished(self):
        """What there is of the Jobs that are not complete, for a message."""
        names = {j["metadata"]["name"]: j for j in self.listing(JOBS) if not is_true(j, "Complete")}
        lines = [f"--- {len(names)} Jobs are not complete"]
        for name, item in list(names.items())[:4]:
            lines.append(f"Job {name}: suspend {item['spec'].get('suspend')} {json.dumps(item.get('status'))}")
            for path in (WORKLOADS, PODS):
                for owned in self.listing(path):
                    if any(o["name"] == name for o in owned["metadata"].get("ownerReferences", [])):
                        lines.append(f"    {owned['metadata']['name']}: {json.dumps(owned['metadata'])[:900]} {json.dumps(owned.get('status'))[:2500]}")
        lines.append("queue: " + json.dumps(self.raw.get(f"{CLUSTER_QUEUES}/queue").get("status"))[:1500])
        return "\n".join(lines)

    def wait(self, condition, what, timeout_s):
        def either():
            self.auditor.check()
            # On a busy machine the one that takes over may lose the lease again. A Deployment starts both anew then.
            if self.replicas and all(each.process.poll() is not None for each in self.replicas):
                for each in self.replicas:
                    each.revive()
            return condition()
        try:
            return _server.wait_until(either, what, timeout_s)
        except RuntimeError as error:
            raise RuntimeError(f"{error}\n{self.unfinished()}\n{self.logs()}") from None

    def add_jobs(self, count):
        for _ in range(count):
            self.raw.create(JOBS, job(f"j-{self.jobs}", "local", cpu=self.dice.choice([1, 1, 2, 3]), seconds=0.2, suspend=True))
            self.jobs += 1

    # ---- faults; each takes the leader and leaves the world so that one replica can lead

    def kill(self, leader, other):
        leader.send(signal.SIGKILL)

    def kill_the_one_that_waits(self, leader, other):
        other.send(signal.SIGKILL)

    def kill_both(self, leader, other):
        leader.send(signal.SIGKILL)
        other.send(signal.SIGKILL)
        for each in self.replicas:
            each.process.wait()
            each.start()

    def stop_long(self, leader, other):
        """Frozen until the other one leads, then awake again with a head full of old plans."""
        leader.send(signal.SIGSTOP)
        try:
            self.wait(lambda: other.role() == "leader", "the other replica to lead", TAKEOVER_S)
        finally:
            leader.send(signal.SIGCONT)

    def stop_short(self, leader, other):
        for each in self.replicas:
            each.send(signal.SIGSTOP)
        self.pause(1.0)
        for each in self.replicas:
            each.send(signal.SIGCONT)

    def cut(self, leader, other):
        self.network(leader, "cut", self.dice.choice([0.3, 5]))

    def hold(self, leader, other):
        self.network(leader, "hold", self.dice.choice([0.5, 5]))

    def delay(self, leader, other):
        for each in self.replicas:
            each.proxy.set("delay")
        self.pause(4)
        for each in self.replicas:
            if each.process.poll() is not None:
                raise RuntimeError(f"a slow network cost replica {each.name} its lease: {_server.tail(each.log)}")

    def lose_answers(self, leader, other):
        self.network(leader, "lose", self.dice.choice([0.2, 1]))

    def repeat_requests(self, leader, other):
        for each in self.replicas:
            each.proxy.set("repeat")
        self.pause(2)
        for each in self.replicas:
            each.proxy.set("pass")

    def network(self, replica, mode, seconds):
        replica.proxy.set(mode)
        self.pause(seconds)
        replica.proxy.set("pass")

    def pause(self, seconds):
        """A fault lasts for a time, or until something that must hold does not."""
        self.auditor.trouble.wait(seconds)
        self.auditor.check()

    # ---- rounds

    def check_the_one_that_waits(self, leader, other):
        """It answers webhooks, metrics with its role, and who asks for pending work."""
        self.wait(lambda: other.ready() and other.role() == "follower", f"replica {other.name} to wait, ready", 20)
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "kind": {"group": "kueue.x-k8s.io", "version": "v1beta2", "kind": "ClusterQueue"},
            "resource": {"group": "kueue.x-k8s.io", "version": "v1beta2", "resource": "clusterqueues"}, "operation": "CREATE", "name": "x",
            "userInfo": {}, "object": cluster_queue("x"), "oldObject": None}}
        status, text = other.fetch(other.webhook, "/validate-kueue-x-k8s-io-v1beta2-clusterqueue", True, None, "POST", json.dumps(review))
        if status != 200 or not json.loads(text)["response"]["allowed"]:
            raise RuntimeError(f"the webhook of the replica that waits: {status} {text[:300]}")
        status, text = other.fetch(other.visibility, "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/queue/pendingworkloads", True, self.token)
        if status != 200 or "items" not in json.loads(text):
            raise RuntimeError(f"the visibility API of the replica that waits: {status} {text[:300]}")

    def play(self, fault):
        leader = self.wait(self.leader, "a leader", 30)
        other = next(r for r in self.replicas if r is not leader)
        self.wait(lambda: other.revive() or other.ready(), f"replica {other.name} to be ready", 30)  # it may only now have ended
        self.add_jobs(8)
        before = self.finished()
        self.wait(lambda: self.finished() > before, "some work to be under way", 30)
        fault(leader, other)
        started = time.monotonic()
        self.wait(self.leader, f"a leader after {fault.__name__}", TAKEOVER_S)
        before = self.finished()
        if before < self.jobs:
            self.wait(lambda: self.finished() > before, f"work to go on after {fault.__name__}", TAKEOVER_S)
        took = time.monotonic() - started
        self.slowest = max(self.slowest, took)
        for each in self.replicas:
            each.proxy.set("pass")
            each.revive()
        self.wait(lambda: self.finished() == self.jobs, f"every Job after {fault.__name__}", 60)
        return took

    def run(self):
        self.add_jobs(4)
        leader = self.wait(self.leader, "a leader", 30)
        self.check_the_one_that_waits(leader, next(r for r in self.replicas if r is not leader))
        faults = [self.kill, self.stop_long, self.lose_answers, self.cut, self.repeat_requests, self.hold, self.kill_both, self.stop_short,
                  self.delay, self.kill_the_one_that_waits]
        for number in range(self.args.rounds):
            fault = faults[number] if number < len(faults) else self.dice.choice(faults)
            took = self.play(fault)
            self.tally.passed += 1
            print(f"round {number + 1}: {fault.__name__}, work went on after {took:.1f} s", flush=True)
        leader = self.wait(self.leader, "a leader", 30)
        other = next(r for r in self.replicas if r is not leader)
        self.check_the_one_that_waits(leader, other)
        self.settled()

    def settled(self):
        def empty():
            status = self.raw.get(f"{CLUSTER_QUEUES}/queue")["status"]
            total = sum(int(r.get("total", "0") or 0) for f in status.get("flavorsReservation", []) for r in f["resources"])
            return (status.get("pendingWorkloads", 0), status.get("reservingWorkloads", 0), total) == (0, 0, 0)
        self.wait(empty, "every reservation to be released", 30)
        wrong = {name: len(pods) for name, pods in self.auditor.pods.items() if len(pods) != 1}
        if wrong or len(self.auditor.pods) != self.jobs or len(self.auditor.owners) != self.jobs:
            raise RuntimeError(f"{self.jobs} Jobs, {len(self.auditor.pods)} with Pods, {len(self.auditor.owners)} Workloads, {wrong}")
        if set(self.auditor.admissions.values()) != {1}:
            raise RuntimeError("a Workload was admitted more than once")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kueue", required=True)
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("KUEUE_HA_ROUNDS", "6")))
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.kueue = os.path.abspath(args.kueue)
    print(f"{args.rounds} rounds, seed {args.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kueue-failover-") as work, contextlib.ExitStack() as stack:
        make_certificate(work)
        kubeconfig, process, log = stack.enter_context(_server.embedded(
            args.kueue, "--no-manager", "--nodes=4x16cpu,32Gi", memory=False, data_dir=f"{work}/data"))
        chaos = Chaos(args, kubeconfig, work, stack)
        try:
            chaos.run()
            if process.poll() is not None:
                raise RuntimeError(f"the server ended: {_server.tail(log)}")
        except (RuntimeError, OSError, AssertionError) as error:
            chaos.tally.fail(f"round {chaos.tally.passed + 1}", error)
            return chaos.tally.end()
    repeated, lost = (sum(getattr(r.proxy, what) for r in chaos.replicas) for what in ("repeated", "lost"))
    print(f"{chaos.jobs} Jobs, each ran once; at most {chaos.auditor.most} of {QUOTA} CPUs reserved; slowest to go on {chaos.slowest:.1f} s; "
          f"{repeated} requests repeated, {lost} answers lost")
    return chaos.tally.end()


if __name__ == "__main__":
    sys.exit(main())
