#!/usr/bin/env python3
"""Scenarios of our own, played with kubectl and a `kueue manager` on the embedded server and on a real control plane.

Usage: kubectl_scenarios.py --kueue BINARY [--server embedded|real|all] [--only WORD]      (KUEUE_LOAD: pending Workloads)
What the recorded scenarios do not show: namespace selectors, partial admission, clients of two versions side by side, and the
manager under load: killed, with its API server gone for a while, with its webhook certificate changed.
"""

import argparse
import concurrent.futures
import contextlib
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
import threading
import time

sys.dont_write_bytecode = True

import _server  # noqa: E402
from _tally import Tally, check  # noqa: E402
import crosscheck  # noqa: E402 (before the player's modules: it knows where they are)
from kube import Client, ClusterCache, Kubeconfig, object_path  # noqa: E402

LOAD = int(os.environ.get("KUEUE_LOAD", "400"))
QUOTA = 20
TIMEOUT_S = 60
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


def local_queue(namespace, queue, version="v1beta2"):
    return f"""
apiVersion: kueue.x-k8s.io/{version}
kind: LocalQueue
metadata: {{name: main, namespace: {namespace}}}
spec: {{clusterQueue: {queue}}}
"""


def job(name, namespace, parallelism=1, cpu=1, annotations="{}"):
    return f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: {namespace}, labels: {{kueue.x-k8s.io/queue-name: main}}, annotations: {annotations}}}
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

    def run(self, *words, text=None):
        return subprocess.run([self.kubectl, "--kubeconfig", self.kubeconfig, *words], input=text or "", text=True, timeout=TIMEOUT_S,
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


# ---- under load

def make_load(s, namespace, count, at_a_third=lambda: None):
    """A queue of QUOTA CPUs and `count` Workloads of one CPU, made by several clients; what was refused."""
    s.namespace(namespace)
    s.apply(FLAVOR.replace("NAME", namespace), cluster_queue(namespace, QUOTA), local_queue(namespace, namespace))
    body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "spec": {"queueName": "main", "podSets": [{
        "name": "main", "count": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}}}]}}

    def create(number):
        if number == count // 3:
            at_a_third()
        answer = s.client.request("POST", object_path("Workload", namespace), body | {"metadata": {"name": f"w-{number}"}})
        if answer.status not in (201, 409):
            return f"{answer.status} {answer.text[:300]}"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return [problem for problem in pool.map(create, range(count)) if problem]


def full(s, namespace, count):
    held, there = s.reserved(namespace)
    check(held <= QUOTA, f"{held} CPUs are reserved of {QUOTA}")
    status = s.get("clusterqueue", namespace).get("status", {})
    return (held, there) == (QUOTA, count) and (status.get("pendingWorkloads"), status.get("reservingWorkloads")) == (count - QUOTA, QUOTA)


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
    s.wait(lambda: full(s, "killed", LOAD), "every Workload to be counted", TIMEOUT_S + LOAD / 100)
    print(f"        {LOAD} Workloads, ready {ready:.1f} s after the start", flush=True)


def server_gone_for_a_while(s):
    """The API server is killed and comes back: the manager finds it again and goes on where it was."""
    make_load(s, "gone", LOAD // 4)
    s.wait(lambda: full(s, "gone", LOAD // 4), "the load")
    s.restart_server()

    def back():
        with contextlib.suppress(OSError):
            return s.client.request("GET", "/readyz").ok
        return False
    s.wait(back, "the API server")
    check(s.manager.poll() is None, f"the manager ended: {s.stage.manager.log_tail(1500)}")
    s.wait(lambda: s.run("delete", "workload", "--all", "-n", "gone", "--wait=false").returncode == 0, "the Workloads to be deleted")
    s.wait(lambda: s.reserved("gone") == (0, 0), "the Workloads to go")
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
    s.wait(lambda: full(s, "rotated", LOAD + 20), "every Workload to be counted")


SCENARIOS = [namespace_selector, partial_admission, borrowing_and_reclaim, two_versions, stop_and_move, manager_killed_under_load,
             certificate_rotated_under_load, server_gone_for_a_while]


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
