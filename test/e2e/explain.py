#!/usr/bin/env python3
"""`kueue explain workload NAME`, as a command of its own and as the plug-in `kubectl kueue`: a job that holds the quota for a
known time, one that waits for it, one that preempts it. Usage: explain.py --kueue BINARY"""

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
    with _server.embedded(args.kueue) as (kubeconfig, _, _), tempfile.TemporaryDirectory() as folder:
        play(args.kueue, kubeconfig, folder)
    print("1 passed, 0 failed, 0 skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
