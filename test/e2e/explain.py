#!/usr/bin/env python3
"""`kueue explain workload NAME`, as a command of its own and as the plug-in `kubectl kueue`: a job that holds the quota for a
known time, one that waits for it, one that preempts it; jobs that cannot run, never fit, have no Workload; a manager that was
killed, and none at all. Usage: explain.py --kueue BINARY"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import _server  # noqa: E402
import _tally  # noqa: E402

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: plain, resources: [{name: cpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: default}
spec: {clusterQueue: team}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: urgent}
value: 1000
"""

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: default, labels: {kueue.x-k8s.io/queue-name: mainLABELS}}
spec:
  parallelism: 3
  completions: 3
  suspend: true
  template:
    metadata: {annotations: {kueue-cpp.dev/run-for: 1h}}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]
"""


class Session:
    def __init__(self, kueue, kubeconfig):
        self.kueue, self.env = kueue, os.environ | {"KUBECONFIG": kubeconfig}

    def run(self, *words, given=None, program=None):
        return subprocess.run([str(program or self.kueue), *words], input=given, text=True, capture_output=True,
                              timeout=30, env=self.env)

    def do(self, *words, given=None, program=None):
        done = self.run(*words, given=given, program=program)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def job(self, name, **labels):
        extra = "".join(f", kueue.x-k8s.io/{key.replace('_', '-')}: '{value}'" for key, value in labels.items())
        self.do("create", "-f", "-", given=JOB.replace("NAME", name).replace("LABELS", extra))

    def explained(self, job, state):
        def look():
            done = self.run("explain", "job", job, "-o", "json")
            found = json.loads(done.stdout) if done.returncode == 0 else {}
            return found if found.get("state") == state else None
        return _server.wait_until(look, f"{job} to be {state}")


def holds_waits_preempts(kueue):
    with _server.embedded(kueue) as (kubeconfig, _, _), tempfile.TemporaryDirectory() as folder:
        play(kueue, kubeconfig, folder)


def cannot_run(kueue):
    """An admitted job whose Pods have no node, and one that never fits: both are told, by explain and by lint."""
    with _server.embedded(kueue) as (kubeconfig, _, _):
        session = Session(kueue, kubeconfig)
        session.do("apply", "-f", "-", given=QUEUES)
        session.do("create", "-f", "-", given=JOB.replace("NAME", "astray").replace("LABELS", "").replace(
            "restartPolicy: Never", "restartPolicy: Never\n      nodeSelector: {no: such-node}"))
        session.explained("astray", "Admitted")

        def told():
            text = session.do("explain", "job", "astray")
            return text if "Pods:       3 have no node: Unschedulable: " in text else None
        _server.wait_until(told, "the Pods without node to be named")
        session.do("create", "-f", "-", given=JOB.replace("NAME", "huge").replace("LABELS", "").replace("cpu: 1", "cpu: 2"))
        huge = session.explained("huge", "Pending")
        assert "maximum capacity (4)" in huge["start"]["never"], huge
        assert "never with the present quota" in session.do("explain", "job", "huge")
        lint = session.run("lint", "-o", "json")
        rules = {found["rule"]: found["severity"] for found in json.loads(lint.stdout)["findings"]}
        assert lint.returncode == 1 and rules.get("admitted-cannot-run") == "error", lint.stdout
        assert rules.get("waits-for-ever") == "warning", lint.stdout
        assert "notLookedAt" in json.loads(lint.stdout), lint.stdout


def no_workload(kueue):
    with _server.embedded(kueue) as (kubeconfig, _, _):
        session = Session(kueue, kubeconfig)
        session.do("apply", "-f", "-", given=QUEUES)
        plain = JOB.replace("NAME", "plain").replace("LABELS", "").replace(", labels: {kueue.x-k8s.io/queue-name: main}", "")
        session.do("create", "-f", "-", given=plain)
        for words, text in ((("job", "plain"), "queue-name is missing"), (("job", "none"), "there is no job.batch/none"),
                            (("job", "plain", "-n", "kube-system"), "there is one in namespace default")):
            done = session.run("explain", *words)
            assert done.returncode == 1 and text in done.stderr, (words, done.stderr)
        missing = JOB.replace("NAME", "missing").replace("queue-name: main", "queue-name: mian").replace("LABELS", "")
        session.do("create", "-f", "-", given=missing)
        found = session.explained("missing", "Pending")
        assert found["changes"] == ["create LocalQueue mian in namespace default, or name one that is there: main"], found
        assert "Flavors, in" not in session.do("explain", "job", "missing")


def after_kill(kueue):
    """The history begins with the manager, and says so."""
    with tempfile.TemporaryDirectory() as data:
        with _server.embedded(kueue, memory=False, data_dir=data) as (kubeconfig, process, _):
            session = Session(kueue, kubeconfig)
            session.do("apply", "-f", "-", given=QUEUES)
            session.job("holder")
            assert "historySince" not in session.explained("holder", "Admitted")
            process.kill()
            process.wait()

        def told():
            with _server.embedded(kueue, memory=False, data_dir=data) as (kubeconfig, _, _):
                session = Session(kueue, kubeconfig)
                since = session.explained("holder", "Admitted").get("historySince")
                return since and session.do("explain", "job", "holder")
        # Times of creation are whole seconds: a manager that starts within one may have seen it made.
        text = _server.wait_until(told, "a manager that starts after the Workload was made")
        assert "It goes back to the start of the manager" in text, text


WORKLOAD = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: by-hand, namespace: default}
spec:
  queueName: main
  podSets:
  - name: main
    count: 5
    template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}
"""


def without_manager(kueue):
    """Nobody answers: it is worked out from the objects, nothing is written, and lint says that nobody leads."""
    with _server.embedded(kueue, "--no-manager") as (kubeconfig, _, _):
        session = Session(kueue, kubeconfig)
        session.do("apply", "-f", "-", given=QUEUES)
        session.do("create", "-f", "-", given=WORKLOAD)
        before = session.do("get", "workload", "by-hand", "-o", "json")
        done = session.run("explain", "workload", "by-hand")
        assert done.returncode == 0 and "worked out from the objects" in done.stderr, done.stderr
        assert "never with the present quota" in done.stdout, done.stdout
        assert session.do("get", "workload", "by-hand", "-o", "json") == before
        assert session.run("explain", "workload", "none").returncode == 1
        session.do("create", "-f", "-", given=JOB.replace("NAME", "job").replace("LABELS", ""))
        assert "no manager has ever led" in session.run("explain", "job", "job").stderr
        lint = session.run("lint")
        assert "[no-leader]" in lint.stdout and lint.returncode == 1, lint.stdout


def play(kueue, kubeconfig, folder):
    session = Session(kueue, kubeconfig)
    session.do("apply", "-f", "-", given=QUEUES)
    session.job("holder", max_exec_time_seconds=600)
    holder = session.explained("holder", "Admitted")
    assert "ends at" in holder["summary"], holder
    session.job("waiter")
    waiter = session.explained("waiter", "Pending")
    assert waiter["position"]["waiting"] == 1 and waiter["start"].get("at"), waiter
    assert holder["metadata"]["name"] in waiter["start"]["basis"], waiter
    assert waiter["changes"] and waiter["podSets"][0]["flavors"][0]["quota"][0]["missing"] == "2", waiter

    name = waiter["metadata"]["name"]
    plain = session.do("explain", "workload", name)
    assert "Would help:" in plain and "held by team 3" in plain, plain
    assert session.do("explain", f"workload/{name}").splitlines()[0] == plain.splitlines()[0]
    assert "FIELDS" in session.do("explain", "workload") and "podSets" in session.do("explain", "workload.spec")
    assert session.run("explain", "workload", "none").returncode == 1
    plugin = pathlib.Path(folder) / "kubectl-kueue"
    plugin.symlink_to(pathlib.Path(kueue).resolve())
    assert name in session.do("explain", "workload", name, program=plugin)
    kubectl = shutil.which("kubectl")
    if kubectl:
        session.env["PATH"] = f"{folder}:{session.env['PATH']}"
        assert name in session.do("kueue", "explain", "workload", name, program=kubectl)

    session.job("urgent", priority_class="urgent")
    urgent = session.explained("urgent", "Admitted")
    told = {(entry["what"], entry.get("workload")) for entry in urgent["history"]}
    assert ("Preempts", f"default/{holder['metadata']['name']}") in told, urgent
    victim = session.explained("holder", "Pending")
    told = {(entry["what"], entry.get("workload")) for entry in victim["history"]}
    assert ("Preempted", f"default/{urgent['metadata']['name']}") in told, victim
    # The journal is in no object.
    everything = session.do("get", "workloads", "-o", "json")
    assert "WorkloadExplanation" not in everything and '"history"' not in everything


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kueue", required=True)
    args = parser.parse_args()
    tally = _tally.Tally()
    for test in (holds_waits_preempts, cannot_run, no_workload, after_kill, without_manager):
        tally.play(test, args.kueue)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
