#!/usr/bin/env python3
"""The quick start: a playground on the embedded server, real manifests, every transition printed as it happens.

Usage: quick_start.py --kueue BINARY [--keep] [--scene N]
Ends with code 0 when everything that was promised has been seen. --keep leaves the server up until Ctrl-C.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "e2e"))
sys.path.insert(0, str(ROOT / "test" / "scenarios" / "player"))
sys.dont_write_bytecode = True

import _server  # noqa: E402
from kube import Client, Kubeconfig  # noqa: E402

WATCHED = ("Job", "Workload", "Pod")
SCENE_TIMEOUT_S = 120


class Stage:
    """Follows Jobs, Workloads and Pods by watches, prints what changes, and answers questions about it."""

    def __init__(self, kubeconfig):
        self.client = Client(Kubeconfig(kubeconfig), "quick-start")
        self.started = time.monotonic()
        self.changed = threading.Condition()
        self.states = {}     # (kind, namespace/name) -> state text
        self.owners = {}     # workload -> job
        self.running = {}    # pod -> its job, while Running
        self.peak = {}       # name of a check -> highest number seen
        self.together = []   # sets of jobs with running pods at the same time
        self.problem = None
        for kind in WATCHED:
            threading.Thread(target=self._follow, args=(kind,), daemon=True).start()

    def say(self, text):
        # In one piece: several threads talk.
        sys.stdout.write(f"{time.monotonic() - self.started:6.1f} s  {text}\n")
        sys.stdout.flush()

    def wait(self, condition, what):
        deadline = time.monotonic() + SCENE_TIMEOUT_S
        with self.changed:
            while not condition():
                if self.problem:
                    raise RuntimeError(self.problem)
                left = deadline - time.monotonic()
                if left <= 0:
                    raise RuntimeError(f"timed out waiting for {what}; states: {self.states}")
                self.changed.wait(min(left, 1.0))

    def jobs(self, state, prefix=""):
        return sorted(name for (kind, name), s in self.states.items()
                      if kind == "Job" and s == state and name.split("/")[1].startswith(prefix))

    def all_finished(self):
        """Every Workload seen is finished, which follows its Job by a moment."""
        self.wait(lambda: all(s == "finished" for (kind, _), s in self.states.items() if kind == "Workload"),
                  "all Workloads to finish")

    def _follow(self, kind):
        while True:
            try:
                _, response = self.client.open_watch(kind, "0")
                if response.status != 200:
                    raise RuntimeError(f"watching {kind}: {response.status} {response.read()[:300]!r}")
                for line in response:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise RuntimeError(f"watching {kind}: {event['object']}")
                    with self.changed:
                        getattr(self, "_on_" + kind.lower())(event["type"], event["object"])
                        self.changed.notify_all()
            except (OSError, http.client.HTTPException):
                return  # the server went away: the scene's own timeout tells if it should not have
            except (ValueError, RuntimeError) as error:
                with self.changed:
                    self.problem = str(error)
                    self.changed.notify_all()
                return

    def _set(self, kind, key, state, text):
        if self.states.get((kind, key)) != state:
            self.states[kind, key] = state
            self.say(f"{kind.lower():8} {key}: {text}")

    def _on_job(self, event, job):
        key = f"{job['metadata']['namespace']}/{job['metadata']['name']}"
        conditions = {c["type"] for c in job.get("status", {}).get("conditions", []) if c["status"] == "True"}
        if event == "DELETED":
            self._set("Job", key, "gone", "deleted")
        elif "Complete" in conditions:
            self._set("Job", key, "finished", "finished")
        elif "Failed" in conditions:
            self._set("Job", key, "failed", "failed")
        elif job["spec"].get("suspend"):
            self._set("Job", key, "waiting", "suspended, waits for its turn")
        else:
            self._set("Job", key, "running", "released")

    def _on_workload(self, event, workload):
        key = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
        conditions = {c["type"]: c for c in workload.get("status", {}).get("conditions", [])}
        true = {t for t, c in conditions.items() if c["status"] == "True"}
        for owner in workload["metadata"].get("ownerReferences", []):
            self.owners[key] = f"{workload['metadata']['namespace']}/{owner['name']}"
        if event == "DELETED":
            self._set("Workload", key, "gone", "deleted")
        elif "Finished" in true:
            self._set("Workload", key, "finished", "Finished: " + conditions["Finished"]["message"])
        elif "Admitted" in true:
            self._set("Workload", key, "admitted", "Admitted: " + conditions["Admitted"]["message"])
        elif "QuotaReserved" in true:
            self._set("Workload", key, "reserved", "QuotaReserved: " + conditions["QuotaReserved"]["message"])
        elif "QuotaReserved" in conditions:
            self._set("Workload", key, "pending " + conditions["QuotaReserved"]["message"],
                      "waits: " + conditions["QuotaReserved"]["message"])
        else:
            self._set("Workload", key, "created", "created")

    def _on_pod(self, event, pod):
        key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        job = pod["metadata"].get("labels", {}).get("batch.kubernetes.io/job-name", "")
        phase = pod.get("status", {}).get("phase", "Pending")
        if event == "DELETED" or phase != "Running":
            self.running.pop(key, None)
        else:
            self.running[key] = f"{pod['metadata']['namespace']}/{job}"
        now = set(self.running.values())
        if now and now not in self.together:
            self.together.append(now)
        self.peak["pods"] = max(self.peak.get("pods", 0), len(self.running))
        self._set("Pod", key, "gone" if event == "DELETED" else phase, "deleted" if event == "DELETED" else phase)


def apply(stage, kueue, kubeconfig, example):
    """`kueue apply` of an example; what it answers is printed as one more kind of line. Its jobs run shorter here."""
    text = "\n---\n".join(path.read_text() for path in sorted((ROOT / "examples" / example).glob("*.yaml")))
    text = re.sub(r'"sleep", "\d+"', '"sleep", "2"', text)
    done = subprocess.run([kueue, "apply", "-f", "-", "--kubeconfig", kubeconfig], check=True, text=True, input=text,
                          stdout=subprocess.PIPE)
    for line in done.stdout.splitlines():
        stage.say("apply    " + line)


def scene_quick_start(stage, kueue, kubeconfig):
    print("\n== Scene 1: five Jobs of three one-CPU pods, quota for nine CPUs: three run, the rest wait ==\n"
          "   (Jobs created within one second are equally old: either may come first. What frees quota is gathered for a second\n"
          "   before those that wait are looked at again, as in Kueue: hence the gap between an end and the next start)", flush=True)
    apply(stage, kueue, kubeconfig, "quick-start")
    stage.wait(lambda: len(stage.jobs("running", "sample-job-")) + len(stage.jobs("finished", "sample-job-")) >= 3,
               "three Jobs to be released")
    stage.wait(lambda: len(stage.jobs("finished", "sample-job-")) == 5, "all five Jobs to finish")
    stage.all_finished()
    check(stage.peak["pods"] == 9, f"nine pods at the same time at most, and nine at the peak; saw {stage.peak['pods']}")


def scene_gang(stage, kueue, kubeconfig):
    print("\n== Scene 2: two Jobs of eight one-GPU pods on eight GPUs: one after the other, never half of each ==", flush=True)
    stage.together.clear()
    apply(stage, kueue, kubeconfig, "gang")
    stage.wait(lambda: len(stage.jobs("finished", "train-")) == 2, "both training Jobs to finish")
    stage.all_finished()
    both = {"default/train-a", "default/train-b"}
    check(not any(both <= group for group in stage.together), "the two Jobs never had pods running at the same time")


def scene_cohort(stage, kueue, kubeconfig):
    print("\n== Scene 3: two teams of four CPUs in one cohort: one borrows what the other leaves idle ==", flush=True)
    apply(stage, kueue, kubeconfig, "cohort")
    stage.wait(lambda: {"team-a/big", "team-b/own"} <= set(stage.jobs("finished")), "both teams' Jobs to finish")
    stage.all_finished()
    big = next(w for w, job in stage.owners.items() if job == "team-a/big")
    check(stage.states["Workload", big] == "finished", "team-a ran six CPUs with a quota of four")


def check(condition, what):
    if not condition:
        raise RuntimeError("not as promised: " + what)
    print(f"  ok: {what}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kueue", required=True)
    parser.add_argument("--keep", action="store_true", help="leave the server up until Ctrl-C")
    args = parser.parse_args()
    kueue = str(pathlib.Path(args.kueue).resolve())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # takes the server down too

    print("starting: kueue up --memory --nodes 4x8cpu,32Gi,nvidia.com/gpu=2", flush=True)
    with contextlib.ExitStack() as stack:
        kubeconfig, process, _ = stack.enter_context(
            _server.embedded(kueue, "--nodes", "4x8cpu,32Gi,nvidia.com/gpu=2"))
        stage = Stage(kubeconfig)
        for scene in (scene_quick_start, scene_gang, scene_cohort):
            scene(stage, kueue, kubeconfig)
        print("\nEverything ran as promised. The same on your own: README.md, section 'Playground'.", flush=True)
        if args.keep:
            print(f"\nThe server stays up. In another terminal:\n  export KUBECONFIG={kubeconfig}\n"
                  f"  kubectl get workloads      (or: {os.path.relpath(kueue)} get workloads)\nCtrl-C ends it.", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                process.wait()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, subprocess.CalledProcessError) as error:
        print(f"quick start failed: {error}", file=sys.stderr)
        sys.exit(1)
