#!/usr/bin/env python3
"""Scenarios of our own, played with kubectl and a `kueue manager` on the embedded server and on a real control plane.

Usage: kubectl_scenarios.py --kueue BINARY [--server embedded|real|all] [--only WORD]      (KUEUE_LOAD: pending Workloads)
What the recorded scenarios do not show: what people do with kubectl, clients of two versions side by side, a clock that jumps, and
the manager under load: killed, started anew, as one of two, with its API server gone for a while, with its certificate changed.
"""

import argparse
import calendar
import concurrent.futures
import contextlib
import datetime
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

import _server  # noqa: E402
from _tally import Tally, check  # noqa: E402
import crosscheck  # noqa: E402 (before the player's modules: it knows where they are)
import manager  # noqa: E402
from kube import Client, ClusterCache, Kubeconfig, object_path  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
LEADER_ELECTION = {"leaderElection": {"leaderElect": True, "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"}}
LEASE = "c1f6bfd2.kueue.x-k8s.io"
RENEWALS = 8  # so many take longer than a lease lasts
LOAD = int(os.environ.get("KUEUE_LOAD", "400"))
QUOTA = 20
TIMEOUT_S = 60
LOAD_TIMEOUT_S = TIMEOUT_S + LOAD / 50
FLAVOR = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: NAME}\n"


def cluster_queue(name, cpu, version="v1beta2", selector="{}", more=""):
    return f"""
apiVersion: kueue.x-k8s.io/{version}
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {selector}
  resourceGroups: [{{coveredResources: [cpu], flavors: [{{name: {name}, resources: [{{name: cpu, nominalQuota: {cpu}}}]}}]}}]
{more}"""


def cohort(name, spec="{}"):
    return f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {{name: {name}}}
spec: {spec}
"""


def priority(name, value):
    return f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {{name: {name}}}
value: {value}
"""


def local_queue(namespace, queue, version="v1beta2", name="main"):
    return f"""
apiVersion: kueue.x-k8s.io/{version}
kind: LocalQueue
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{clusterQueue: {queue}}}
"""


def job(name, namespace, parallelism=1, cpu=1, annotations="{}", labels="kueue.x-k8s.io/queue-name: main"):
    return f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: {namespace}, labels: {{{labels}}}, annotations: {annotations}}}
spec:
  parallelism: {parallelism}
  completions: {parallelism}
  suspend: true
  template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: none, resources: {{requests: {{cpu: {cpu}}}}}}}]}}}}
"""


class Stage:
    """A server with CRDs, webhooks, a node and a manager; kubectl to work with it."""

    def __init__(self, kueue, kubectl, kubeconfig, work, restart_server):
        self.kubectl, self.kubeconfig, self.restart_server = kubectl, str(kubeconfig), restart_server
        self.server = crosscheck.Server(crosscheck.load_player(), kueue, self.kubeconfig, work)
        self.stage, self.client, self.home = self.server.stage, Client(Kubeconfig(self.kubeconfig), "kubectl-scenarios"), work
        self.stage.open({})
        self.kubelet = self.stage.make_kubelet(True)
        self.cache = ClusterCache(self.stage.admin, self.kubelet.on_change)
        self.stage.cluster.create_nodes([{"name": "n1", "allocatable": {"cpu": "10000", "memory": "40000Gi", "pods": "20000"}}])
        self.cache.wait_synced()

    @property
    def manager(self):
        return self.stage.manager.process

    def start_manager(self):
        self.stage.manager.start(self.stage.configuration, self.stage.endpoints, keep_log=True)

    @contextlib.contextmanager
    def configured(self, over, prefix=""):
        """The manager with more in its Configuration, and started by another command."""
        process, base = self.stage.manager, self.stage.configuration
        template = process.template
        process.stop()
        try:
            self.stage.configuration, process.template = manager.merge(base, over), f"{prefix} {template}".strip()
            self.start_manager()
            yield
        finally:
            process.stop()
            self.stage.configuration, process.template = base, template
            self.start_manager()

    @contextlib.contextmanager
    def another_manager(self, over):
        """One more of the managers, with ports of its own; nobody calls its webhooks."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.home))
        configuration = manager.merge(manager.base_configuration(self.stage.base["webhook"]["certDir"]), over)
        process = manager.ManagerProcess(self.stage.manager.template, self.kubeconfig, folder, TIMEOUT_S)
        process.start(configuration, manager.Endpoints(self.stage.kubeconfig, configuration))
        try:
            yield process.process
        finally:
            process.stop()

    def run(self, *words, text=None, timeout_s=TIMEOUT_S):
        return subprocess.run([self.kubectl, "--kubeconfig", self.kubeconfig, *words], input=text or "", text=True, timeout=timeout_s,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PATH": os.environ["PATH"], "HOME": str(self.home)})

    def do(self, *words, text=None):
        done = self.run(*words, text=text)
        if done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def apply(self, *manifests):
        return self.do("apply", "-f", "-", text="\n---\n".join(manifests))

    def get(self, *words):
        return json.loads(self.do("get", *words, "-o", "json"))

    def namespace(self, name, **labels):
        self.apply(json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}))

    def wait(self, condition, what, timeout_s=TIMEOUT_S):
        try:
            return _server.wait_until(condition, what, timeout_s)
        except RuntimeError as error:
            raise AssertionError(f"{error}: {self.stage.manager.log_tail(1500)}") from None

    def started(self, namespace, name):
        return not self.get("job", name, "-n", namespace)["spec"]["suspend"]

    def reserved(self, namespace):
        """CPUs that Workloads of the namespace hold, and how many Workloads there are."""
        items = self.client.get(object_path("Workload", namespace)).json()["items"]
        held = sum(int(a["resourceUsage"]["cpu"]) for w in items if w.get("status", {}).get("admission")
                   and not any(c["type"] == "Finished" for c in w["status"]["conditions"]) for a in w["status"]["admission"]["podSetAssignments"])
        return held, len(items)

    def close(self):
        self.cache.stop()
        self.kubelet.stop()
        self.stage.manager.stop()


# ---- queues, by kubectl

def quick_start(s):
    """The files of examples/quick-start: three of five jobs fit, the others follow."""
    folder = EXAMPLES / "quick-start"
    s.do("apply", "-f", str(folder / "1-queues.yaml"))
    names = s.do("apply", "-f", str(folder / "2-jobs.yaml"), "-o", "name").split()
    check(len(names) == 5, f"five jobs, not {names}")

    def running():
        return [name for name in names if s.run("get", name, "-o", "jsonpath={.spec.suspend}").stdout == "false"]
    s.wait(lambda: len(running()) == 3, "three jobs to run")
    s.wait(lambda: s.get("clusterqueue", "cluster-queue")["status"].get("pendingWorkloads") == 2, "two to be counted as pending")
    check(s.do("get", "clusterqueue", "cluster-queue").split()[-1] == "2", "kubectl get shows no pending workloads")
    for left in (4, 3, 2, 1, 0):
        done = running()[0]
        s.do("delete", done)
        names.remove(done)
        s.wait(lambda: len(running()) == min(3, left), f"{min(3, left)} jobs to run when {left} are left")


def priority_preemption(s):
    s.namespace("ranks")
    s.apply(FLAVOR.replace("NAME", "ranks"), cluster_queue("ranks", 2, more="  preemption: {withinClusterQueue: LowerPriority}\n"),
            local_queue("ranks", "ranks"), priority("rank-low", 10), priority("rank-high", 1000))

    def ranked(name, rank):
        return job(name, "ranks", parallelism=2, labels=f"kueue.x-k8s.io/queue-name: main, kueue.x-k8s.io/priority-class: {rank}")
    s.apply(ranked("low", "rank-low"))
    s.wait(lambda: s.started("ranks", "low"), "the job of low priority")
    s.apply(ranked("high", "rank-high"))
    s.wait(lambda: s.started("ranks", "high"), "the job of high priority")
    check(not s.started("ranks", "low"), "both run in a quota for one")
    s.wait(lambda: "Preempted" in s.do("get", "events", "-n", "ranks"), "the event that tells why")
    # Of the same second the smaller uid goes first.
    made = calendar.timegm(time.strptime(s.get("workload", "-n", "ranks")["items"][0]["metadata"]["creationTimestamp"], "%Y-%m-%dT%H:%M:%SZ"))
    s.wait(lambda: time.time() > made + 1, "the second to be over")
    s.apply(ranked("equal", "rank-low"))
    s.do("delete", "job", "high", "-n", "ranks")
    s.wait(lambda: s.started("ranks", "low"), "the job that was preempted, before its younger equal")
    check(not s.started("ranks", "equal"), "a job of the same priority took its place")


def cohort_tree(s):
    """Two branches below a root that has quota of its own; a branch that is cut off takes its quota along."""
    s.namespace("tree")
    quota = "{resourceGroups: [{coveredResources: [cpu], flavors: [{name: tree, resources: [{name: cpu, nominalQuota: 2}]}]}]}"
    queues = [cluster_queue(f"tree-{side}", 2, more=f"  cohortName: {side}\n").replace(f"flavors: [{{name: tree-{side}", "flavors: [{name: tree")
              for side in ("left", "right")]
    s.apply(FLAVOR.replace("NAME", "tree"), cohort("root", quota), *(cohort(side, "{parentName: root}") for side in ("left", "right")),
            *queues, local_queue("tree", "tree-left"))
    s.apply(job("all", "tree", parallelism=6))
    s.wait(lambda: s.started("tree", "all"), "the job that needs the quota of the whole tree")
    s.do("delete", "job", "all", "-n", "tree")
    s.wait(lambda: s.reserved("tree") == (0, 0), "the quota to be free")
    s.do("patch", "cohort", "right", "--type=merge", "-p", '{"spec": {"parentName": null}}')
    s.apply(job("again", "tree", parallelism=6))
    s.wait(lambda: "insufficient" in s.do("get", "workloads", "-n", "tree", "-o", "yaml"), "the reason while a branch is missing")
    check(not s.started("tree", "again"), "a job runs on quota that is not in its tree")
    s.apply(job("four", "tree", parallelism=4))
    s.wait(lambda: s.started("tree", "four"), "the job that needs its branch and the root")
    s.do("delete", "job", "four", "-n", "tree")
    s.do("patch", "cohort", "right", "--type=merge", "-p", '{"spec": {"parentName": "root"}}')
    s.wait(lambda: s.started("tree", "again"), "the job when the tree is whole again")
    refused = s.run("patch", "cohort", "root", "--type=merge", "-p", '{"spec": {"parentName": "root"}}')
    if refused.returncode == 0:  # a cycle of one: its members are told
        s.wait(lambda: "cycle" in s.do("get", "clusterqueue", "tree-left", "-o", "yaml").lower(), "the cycle to be seen")
        s.do("patch", "cohort", "root", "--type=merge", "-p", '{"spec": {"parentName": null}}')


def fair_sharing(s):
    """Who came first holds everything; when the other comes, they share: by halves, then by their weights."""
    with s.configured({"fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}}):
        quota = "{resourceGroups: [{coveredResources: [cpu], flavors: [{name: fair, resources: [{name: cpu, nominalQuota: 6}]}]}]}"
        s.apply(FLAVOR.replace("NAME", "fair"), cohort("fair", quota))
        for name in ("fair-one", "fair-two"):
            s.namespace(name)
            more = "  cohortName: fair\n  preemption: {reclaimWithinCohort: Any}\n  fairSharing: {weight: 1}\n"
            s.apply(cluster_queue(name, 0, more=more).replace(f"flavors: [{{name: {name}", "flavors: [{name: fair"), local_queue(name, name))

        def held():
            return s.reserved("fair-one")[0], s.reserved("fair-two")[0]
        s.apply(*(job(f"j{n}", "fair-one") for n in range(6)))
        s.wait(lambda: held() == (6, 0), "the first queue to hold everything")
        s.apply(*(job(f"j{n}", "fair-two") for n in range(6)))
        s.wait(lambda: held() == (3, 3), "the queues to share by halves")
        s.wait(lambda: len({s.get("clusterqueue", n)["status"]["fairSharing"]["weightedShare"] for n in ("fair-one", "fair-two")}) == 1,
               "equal shares in both statuses")
        s.do("patch", "clusterqueue", "fair-two", "--type=merge", "-p", '{"spec": {"fairSharing": {"weight": "2"}}}')
        s.do("delete", "job", "--all", "-n", "fair-one", "--wait=false")
        s.wait(lambda: held() == (0, 6), "the second queue to hold everything")
        s.apply(*(job(f"k{n}", "fair-one") for n in range(6)))
        s.wait(lambda: held() == (2, 4), "the queues to share by weights")


def default_local_queue(s):
    s.namespace("defaulted")
    s.apply(FLAVOR.replace("NAME", "defaulted"), cluster_queue("defaulted", 1), local_queue("defaulted", "defaulted", name="default"))
    # The webhook of the manager has to know the queue first.
    s.wait(lambda: s.get("localqueue", "default", "-n", "defaulted").get("status", {}).get("conditions"), "the queue to be active")
    s.apply(job("plain", "defaulted", labels=""))
    check(s.get("job", "plain", "-n", "defaulted")["metadata"]["labels"].get("kueue.x-k8s.io/queue-name") == "default", "no queue was filled in")
    s.wait(lambda: s.started("defaulted", "plain"), "the job")
    s.apply(job("named", "defaulted", labels="kueue.x-k8s.io/queue-name: other"))
    check(s.get("job", "named", "-n", "defaulted")["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "other", "a name was replaced")
    check(not s.started("defaulted", "named"), "a job runs in a queue that is not there")


def namespace_selector(s):
    s.namespace("inside", team="a")
    s.namespace("outside")
    s.apply(FLAVOR.replace("NAME", "selected"), cluster_queue("selected", 4, selector="{matchLabels: {team: a}}"),
            local_queue("inside", "selected"), local_queue("outside", "selected"))
    s.apply(job("one", "inside"), job("two", "outside"))
    s.wait(lambda: s.started("inside", "one"), "the job of the namespace that is selected")
    s.wait(lambda: "match ClusterQueue selector" in s.do("get", "workloads", "-n", "outside", "-o", "yaml"), "the reason of the other")
    check(not s.started("outside", "two"), "a job runs in a namespace that is not selected")
    s.do("label", "namespace", "outside", "team=a")
    s.wait(lambda: s.started("outside", "two"), "the job whose namespace was labelled")


def partial_admission(s):
    s.namespace("partial")
    s.apply(FLAVOR.replace("NAME", "partial"), cluster_queue("partial", 4), local_queue("partial", "partial"))
    s.apply(job("shrinks", "partial", parallelism=6, annotations='{kueue.x-k8s.io/job-min-parallelism: "2"}'))
    s.wait(lambda: s.started("partial", "shrinks"), "the job that may be smaller")
    check(s.get("job", "shrinks", "-n", "partial")["spec"]["parallelism"] == 4, "parallelism is not what there was room for")
    s.apply(job("too-large", "partial", parallelism=6))
    s.wait(lambda: "insufficient" in s.do("get", "workloads", "-n", "partial", "-o", "yaml"), "the reason of the one that may not")
    s.do("delete", "job", "shrinks", "-n", "partial")
    check(not s.started("partial", "too-large"), "a job runs that never fits")


def borrowing_and_reclaim(s):
    s.namespace("lender")
    s.namespace("borrower")
    more = "  cohortName: pair\n  preemption: {reclaimWithinCohort: Any}\n"
    queues = [cluster_queue(name, 3, more=more).replace(f"flavors: [{{name: {name}", "flavors: [{name: pair") for name in ("lender", "borrower")]
    s.apply(FLAVOR.replace("NAME", "pair"), *queues, local_queue("lender", "lender"), local_queue("borrower", "borrower"))
    s.apply(job("large", "borrower", parallelism=5))
    s.wait(lambda: s.started("borrower", "large"), "the job that borrows")
    s.apply(job("owner", "lender", parallelism=2))
    s.wait(lambda: s.started("lender", "owner"), "the job that takes its quota back")
    s.wait(lambda: not s.started("borrower", "large"), "the borrower to be stopped")
    s.wait(lambda: "Preempted" in s.do("get", "events", "-n", "borrower"), "the event that tells why")


def two_versions(s):
    """Clients of v1beta1 and of v1beta2 work on the same objects."""
    s.namespace("versions")
    s.apply(FLAVOR.replace("NAME", "versions"), cluster_queue("versions", 2, "v1beta1", more="  cohort: old-name\n"), local_queue("versions", "versions", "v1beta1"))
    s.apply(job("seen", "versions"))
    s.wait(lambda: s.started("versions", "seen"), "the job")
    check(s.get("clusterqueues.v1beta2.kueue.x-k8s.io", "versions")["spec"]["cohortName"] == "old-name", "the cohort in v1beta2")
    check(s.get("clusterqueues.v1beta1.kueue.x-k8s.io", "versions")["spec"]["cohort"] == "old-name", "the cohort in v1beta1")
    s.do("patch", "clusterqueues.v1beta1.kueue.x-k8s.io", "versions", "--type=merge", "-p", '{"spec": {"cohort": "newer"}}')
    check(s.get("clusterqueues.v1beta2.kueue.x-k8s.io", "versions")["spec"]["cohortName"] == "newer", "a patch by v1beta1")
    old = s.get("workloads.v1beta1.kueue.x-k8s.io", "-n", "versions")["items"][0]
    check(old["apiVersion"] == "kueue.x-k8s.io/v1beta1" and old["status"]["admission"]["clusterQueue"] == "versions", f"the Workload: {old}")


def stop_and_move(s):
    """stopPolicy by kubectl patch, and a waiting job that changes its queue."""
    s.namespace("moves")
    s.apply(FLAVOR.replace("NAME", "held"), cluster_queue("held", 2, more="  stopPolicy: Hold\n"), local_queue("moves", "held"))
    s.apply(FLAVOR.replace("NAME", "free"), cluster_queue("free", 2), local_queue("moves", "free").replace("name: main", "name: other"))
    s.apply(job("stays", "moves"), job("goes", "moves"))
    s.wait(lambda: len(s.get("workloads", "-n", "moves")["items"]) == 2, "the Workloads")
    s.do("label", "job", "goes", "-n", "moves", "--overwrite", "kueue.x-k8s.io/queue-name=other")
    s.wait(lambda: s.started("moves", "goes"), "the job in its new queue")
    check(not s.started("moves", "stays"), "a job runs in a queue that is held")
    s.do("patch", "clusterqueue", "held", "--type=merge", "-p", '{"spec": {"stopPolicy": "None"}}')
    s.wait(lambda: s.started("moves", "stays"), "the job whose queue is held no longer")


# ---- a clock that jumps

def clock_jump(s):
    """Two hours ahead, then two hours behind: what runs runs on, what comes is admitted, the lease is kept."""
    shim, clock = pathlib.Path(s.home) / "clock.so", pathlib.Path(s.home) / "clock"
    subprocess.run([os.environ.get("CC", "clang-19"), "-shared", "-fPIC", "-O1", "-o", str(shim), str(HERE / "_clock.c")], check=True,
                   stdin=subprocess.DEVNULL)
    clock.write_bytes(struct.pack("=q", 0))
    s.namespace("clock")
    s.apply(FLAVOR.replace("NAME", "clock"), cluster_queue("clock", 3), local_queue("clock", "clock"))

    def lease():
        spec = s.get("lease", LEASE, "-n", "kueue-system")["spec"]
        return spec["holderIdentity"], spec["renewTime"]

    def reserved_at(name):
        """The hour by the manager's clock, as a number."""
        for item in s.get("workloads", "-n", "clock")["items"]:
            if item["metadata"]["ownerReferences"][0]["name"] == name:
                when = next(c for c in item["status"]["conditions"] if c["type"] == "QuotaReserved")["lastTransitionTime"]
                return calendar.timegm(time.strptime(when, "%Y-%m-%dT%H:%M:%SZ"))
        raise AssertionError(f"job {name} has no Workload")
    with s.configured(LEADER_ELECTION, f"env LD_PRELOAD={shim} KUEUE_TEST_CLOCK={clock}"):
        process = s.manager
        s.apply(job("before", "clock"))
        s.wait(lambda: s.started("clock", "before"), "a job before the jump")
        holder = lease()[0]
        for name, hours in (("ahead", 2), ("behind", -2)):
            with open(clock, "r+b") as file:
                file.write(struct.pack("=q", hours * 3600))
            renewals = {lease()[1]}
            s.apply(job(name, "clock"))
            s.wait(lambda: s.started("clock", name), f"a job when the clock is {hours} hours off")
            off = reserved_at(name) - time.time()
            check(abs(off - hours * 3600) < 600, f"the clock of the manager is {off:.0f} s off, not {hours} h")
            s.wait(lambda: renewals.add(lease()[1]) or len(renewals) > RENEWALS, "the lease to be renewed for longer than it lasts")
            check(process.poll() is None and lease()[0] == holder, f"the lease was lost: {s.stage.manager.log_tail(1500)}")
            check(s.started("clock", "before"), "a job that ran was stopped")
        s.apply(job("waits", "clock"))
        s.wait(lambda: s.get("clusterqueue", "clock")["status"].get("pendingWorkloads") == 1, "the job that waits to be counted")
        with open(clock, "r+b") as file:
            file.write(struct.pack("=q", 0))
        s.do("delete", "job", "ahead", "-n", "clock")
        s.wait(lambda: s.started("clock", "waits"), "a job that waited while the clock jumped")
        check("Evicted" not in s.do("get", "events", "-n", "clock"), "something was evicted")


# ---- under load

def make_load(s, namespace, count, at_a_third=lambda: None):
    """A queue of QUOTA CPUs and `count` Workloads of one CPU, those that are missing, made by several clients; what was refused."""
    s.namespace(namespace)
    s.apply(FLAVOR.replace("NAME", namespace), cluster_queue(namespace, QUOTA), local_queue(namespace, namespace))
    body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "spec": {"queueName": "main", "podSets": [{
        "name": "main", "count": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}}}]}}
    there = {item["metadata"]["name"] for item in s.client.get(object_path("Workload", namespace)).json()["items"]}

    def create(number):
        if number == count // 3:
            at_a_third()
        if f"w-{number}" in there:
            return None
        answer = s.client.request("POST", object_path("Workload", namespace), body | {"metadata": {"name": f"w-{number}"}})
        return None if answer.status in (201, 409) else f"{answer.status} {answer.text[:300]}"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return [problem for problem in pool.map(create, range(count)) if problem]


def full(s, namespace, count):
    """Every Workload is counted, and no more is reserved than there is."""
    status = s.get("clusterqueue", namespace).get("status", {})
    check(status.get("reservingWorkloads", 0) <= QUOTA, f"{status.get('reservingWorkloads')} CPUs are reserved of {QUOTA}")
    if (status.get("pendingWorkloads"), status.get("reservingWorkloads")) != (count - QUOTA, QUOTA):
        return False
    held, there = s.reserved(namespace)
    check(held <= QUOTA, f"{held} CPUs are reserved of {QUOTA}")
    return (held, there) == (QUOTA, count)


def wait_full(s, namespace, count):
    s.wait(lambda: full(s, namespace, count), "every Workload to be counted", LOAD_TIMEOUT_S)


def replace_one(s, namespace):
    """Deletes a Workload that holds quota; seconds until another one holds it."""
    items = s.client.get(object_path("Workload", namespace)).json()["items"]
    holding = {w["metadata"]["name"] for w in items if w.get("status", {}).get("admission")}
    started = time.monotonic()
    s.client.delete(object_path("Workload", namespace, min(holding)))
    waiting = next(w["metadata"]["name"] for w in sorted(items, key=lambda w: w["metadata"]["creationTimestamp"]) if w["metadata"]["name"] not in holding)
    s.wait(lambda: s.reserved(namespace)[0] == QUOTA, f"another Workload than {min(holding)}, such as {waiting}, to be admitted")
    return time.monotonic() - started


def manager_killed_under_load(s):
    """kill -9 while Workloads pour in, and a new one: ready at once, nothing admitted twice, everything counted."""
    # Webhooks are gone from then on: what is refused is made below.
    make_load(s, "killed", LOAD, lambda: s.manager.send_signal(signal.SIGKILL))
    s.manager.wait()
    started = time.monotonic()
    s.start_manager()
    ready = time.monotonic() - started
    problems = make_load(s, "killed", LOAD)
    check(not problems, f"after the restart: {problems[:3]}")
    wait_full(s, "killed", LOAD)
    print(f"        {LOAD} Workloads, ready {ready:.1f} s after the start", flush=True)


def manager_restarted_under_load(s):
    """A new start in good order with everything pending: it changes nothing, and the next one is admitted soon."""
    check(not make_load(s, "restarted", LOAD), "Workloads were refused")
    wait_full(s, "restarted", LOAD)

    def picture():
        items = s.client.get(object_path("Workload", "restarted")).json()["items"]
        return {w["metadata"]["name"]: [(c["type"], c["status"], c["lastTransitionTime"]) for c in w["status"]["conditions"]] for w in items
                if w.get("status", {}).get("admission")}
    before = picture()
    s.manager.terminate()
    check(s.manager.wait(30) == 0, "the manager did not end in good order")
    started = time.monotonic()
    s.start_manager()
    ready = time.monotonic() - started
    wait_full(s, "restarted", LOAD)
    check(picture() == before, "conditions of what was admitted have changed")
    took = replace_one(s, "restarted")
    print(f"        {LOAD} Workloads, ready {ready:.1f} s after the start, then one admitted for another in {took:.1f} s", flush=True)


def leader_killed_under_load(s):
    """Two managers; the one that leads is killed while Workloads pour in. The other one's webhooks refuse nothing."""
    with s.another_manager(LEADER_ELECTION) as leader, s.configured(LEADER_ELECTION):
        def lease():
            return s.get("lease", LEASE, "-n", "kueue-system")["spec"]

        def holder():
            return lease().get("holderIdentity")
        first, killed = s.wait(holder, "a manager to lead"), []

        def kill():
            leader.kill()
            killed.append(datetime.datetime.now(datetime.timezone.utc))
        problems = make_load(s, "led", LOAD, kill)
        check(not problems, f"{len(problems)} requests failed: {problems[:3]}")
        s.wait(lambda: holder() not in ("", first), "the other one to lead")
        took = datetime.datetime.fromisoformat(lease()["acquireTime"].replace("Z", "+00:00")) - killed[0]
        wait_full(s, "led", LOAD)
        print(f"        {LOAD} Workloads; the other one led {took.total_seconds():.1f} s after", flush=True)
        replace_one(s, "led")


def server_gone_for_a_while(s):
    """The API server is killed and comes back: the manager finds it again and goes on where it was."""
    make_load(s, "gone", LOAD // 4)
    wait_full(s, "gone", LOAD // 4)
    s.restart_server()

    def back():
        with contextlib.suppress(OSError):
            return s.client.request("GET", "/readyz").ok
        return False
    s.wait(back, "the API server")
    check(s.manager.poll() is None, f"the manager ended: {s.stage.manager.log_tail(1500)}")
    # kubectl deletes one after the other.
    s.wait(lambda: s.run("delete", "workload", "--all", "-n", "gone", "--wait=false", timeout_s=LOAD_TIMEOUT_S).returncode == 0,
           "the Workloads to be deleted", LOAD_TIMEOUT_S)
    s.wait(lambda: s.reserved("gone") == (0, 0), "the Workloads to go", LOAD_TIMEOUT_S)
    s.wait(lambda: s.run("apply", "-f", "-", text=job("after", "gone")).returncode == 0, "a job to be taken")
    s.wait(lambda: s.started("gone", "after"), "a job to be admitted")


def certificate_rotated_under_load(s):
    """The files of the webhooks' certificate change while requests pour in: none fails, and the new one is served."""
    folder = s.stage.webhooks and pathlib.Path(s.stage.base["webhook"]["certDir"])
    port = s.stage.configuration["webhook"]["port"]

    def served():
        return ssl.get_server_certificate(("127.0.0.1", port))

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=made, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    before, problems = served(), []
    loader = threading.Thread(target=lambda: problems.extend(make_load(s, "rotated", LOAD)))
    loader.start()
    for name in ("tls.csr", "tls.key", "tls.crt"):
        (folder / name).rename(folder / f"old-{name}")
    made = pathlib.Path(tempfile.mkdtemp(dir=folder.parent))
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=again", "-keyout", "tls.key", "-out", "tls.csr")
    (made / "extensions").write_text("extendedKeyUsage=serverAuth\nsubjectAltName=IP:127.0.0.1,DNS:localhost\n")
    openssl("x509", "-req", "-in", "tls.csr", "-CA", str(folder / "ca.crt"), "-CAkey", str(folder / "ca.key"), "-CAcreateserial", "-days", "3",
        "-out", "tls.crt", "-extfile", "extensions")
    for name in ("tls.key", "tls.crt"):
        shutil.copy(made / name, folder / name)
    s.wait(lambda: served() != before, "the new certificate to be served", 90)
    loader.join()
    check(not problems, f"{len(problems)} requests failed: {problems[:3]}")
    check(not make_load(s, "rotated", LOAD + 20), "requests fail with the new certificate")
    wait_full(s, "rotated", LOAD + 20)


SCENARIOS = [quick_start, namespace_selector, partial_admission, borrowing_and_reclaim, priority_preemption, cohort_tree, fair_sharing,
             default_local_queue, two_versions, stop_and_move, clock_jump, manager_killed_under_load, manager_restarted_under_load,
             leader_killed_under_load, certificate_rotated_under_load, server_gone_for_a_while]


@contextlib.contextmanager
def embedded(kueue, work):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with _server.embedded(kueue, f"--port={port}", "--no-manager", "--stand-ins=scheduler,job-controller", "--nodes=none", memory=False,
                          data_dir=f"{work}/data") as (kubeconfig, process, log):
        again = []

        def restart():
            process.kill()
            process.wait()
            again.append(subprocess.Popen(process.args, stdout=open(log, "ab"), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL))
        try:
            yield kubeconfig, restart
        finally:
            for each in again:
                _server.stop(each)


@contextlib.contextmanager
def real(_, __):
    with _server.real() as kubeconfig:
        yield kubeconfig, kubeconfig.restart_api_server


def play(server, start, kueue, kubectl, only):
    """The Tally of every scenario on one server."""
    tally = Tally(f"{server}: ")
    with tempfile.TemporaryDirectory(prefix="kueue-kubectl-") as work, start(kueue, work) as (kubeconfig, restart):
        stage = Stage(kueue, kubectl, kubeconfig, work, restart)
        try:
            for scenario in SCENARIOS:
                if only in scenario.__name__:
                    tally.play(scenario, stage)
        finally:
            stage.close()
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kueue", required=True)
    parser.add_argument("--server", choices=("embedded", "real", "all"), default="all")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    binaries = _server.control_plane_binaries()
    if binaries is None:
        print(f"SKIPPED: no kubectl and no real control plane here (they are built with Go): {2 * len(SCENARIOS)} scenarios")
        print(f"0 passed, 0 failed, {2 * len(SCENARIOS)} skipped")
        return 0
    servers = [(name, start) for name, start in (("embedded", embedded), ("real", real)) if args.server in (name, "all")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:  # most of the time is waiting
        outcomes = list(pool.map(lambda one: play(*one, os.path.abspath(args.kueue), str(binaries / "kubectl"), args.only), servers))
    return sum(outcomes, Tally()).end()


if __name__ == "__main__":
    sys.exit(main())
