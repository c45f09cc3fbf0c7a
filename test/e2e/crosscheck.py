#!/usr/bin/env python3
"""Random sequences of operations, played on the embedded server and on a real control plane: what is seen must agree.

Usage: crosscheck.py --kueue BINARY [--sequences N] [--length N] [--seed S] [--only NUMBER,...] [--batch N] [--out DIR]
Compared after every step: all objects with their conditions, the answers to the operations, events, gauges and counters.
Many sequences share one server and one manager, and step at the same time; each has a namespace and queues of its own.
A sequence that differs is played again, up to twice: some orders within a second are chance. The last line counts sequences.
"""

import argparse
import collections
import concurrent.futures
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PLAYER = HERE.parent / "scenarios" / "player"
sys.path[:0] = [str(HERE), str(PLAYER)]
sys.dont_write_bytecode = True

import _sequences  # noqa: E402
import _server  # noqa: E402
import cluster  # noqa: E402
import compare  # noqa: E402
import manager  # noqa: E402
import snapshot  # noqa: E402
import steps  # noqa: E402
from kube import MERGE_PATCH, RECORDED_KINDS, ClusterCache, object_path  # noqa: E402

SEQUENCE = re.compile(r"\bs\d{3}\b")
# Creation times count seconds: what is made in different steps must differ. Job controllers act on what they saw after a second.
QUIET_S = 1.6
REPLAYS = 2
THREADS = 8


class Broom(cluster.Cluster):
    """Removes everything with several hands, and gives it time on a busy machine."""

    def clean(self, manager_alive, patience=120):
        for namespace in {item["metadata"]["namespace"] for item in (self.client.list("Event") or {}).get("items", [])}:
            self.client.delete(object_path("Event", namespace))
        super().clean(manager_alive, patience)

    def _clean_kind(self, kind, strip_finalizers):
        items = [i for i in (self.client.list(kind) or {}).get("items", []) if not self._belongs_to_system(kind, i["metadata"])]

        def remove(item):
            meta = item["metadata"]
            path = object_path(kind, meta.get("namespace"), meta["name"])
            if strip_finalizers and meta.get("finalizers"):
                self.client.request("PATCH", path, {"metadata": {"finalizers": None}}, MERGE_PATCH)
            if strip_finalizers or not meta.get("deletionTimestamp") or kind == "Pod":
                self.client.delete(path, gracePeriodSeconds=0, propagationPolicy="Background")
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(remove, items))
        return len(items)


def owner_of(kind, item):
    """The sequence that an object belongs to, or None."""
    meta = item.get("regarding") or {} if kind == "Event" else item["metadata"]
    for text in (meta.get("namespace"), meta.get("name"), item["metadata"]["name"]):
        found = SEQUENCE.match(text or "")
        if found:
            return found[0]
    return None


class Part:
    """What one sequence sees of the shared cache."""

    def __init__(self, cache, name):
        self.cache, self.name, self.items, self.seen = cache, name, [], []

    def all(self):
        return self.items

    def all_seen(self):
        return self.seen

    def of_kind(self, kind):
        return [item for item in self.cache.of_kind(kind) if owner_of(kind, item) == self.name]

    def get(self, *key):
        return self.cache.get(*key)


class Track(steps.Play):
    """One sequence on a stage that it shares."""

    def __init__(self, number, plan, stage, cache, kubelet):
        self.number, self.name, self.plan = number, _sequences.name_of(number), plan
        self.admin, self.user, self.stage, self.kubelet = stage.admin, stage.user, stage, kubelet
        self.namespace, self.cache = self.name, Part(cache, self.name)
        names = set(re.findall(r'"name": "([a-z0-9.-]+)"', json.dumps(plan)))
        self.symbols = snapshot.Symbols(names, stage.configuration["webhook"]["port"])
        self.responses, self.manager_runs, self.records = [], True, []

    def act(self, number):
        self.responses = []
        if number < len(self.plan):
            self._act(self.plan[number])

    def record(self, number, items, seen, series):
        self.cache.items, self.cache.seen = items, seen
        self.symbols.learn(seen)
        own = {}
        for line in series:
            key, value = line.rsplit(" ", 1)
            own[self.symbols.text(key)] = value if value in ("NaN", "+Inf", "-Inf") else float(value)
        self.records.append({
            "step": number + 1, "responses": self.symbols.value(self.responses), "objects": snapshot.objects(self.cache, self.symbols),
            "events": snapshot.events(self.cache, self.symbols), "metrics": own})


class Server:
    """A server with a manager, on which batches of sequences are played."""

    def __init__(self, player, kueue, kubeconfig, work):
        self.work = pathlib.Path(work)
        (self.work / "crds").mkdir()
        webhooks = self.work / "webhooks.yaml"
        webhooks.write_bytes(subprocess.check_output([kueue, "install", "--only", "webhooks"]))
        for crd in json.loads(subprocess.check_output([kueue, "crds", "-o", "json"]))["items"]:
            (self.work / "crds" / f"{crd['metadata']['name']}.json").write_text(json.dumps(crd))
        command = f"{kueue} manager --metrics-plain-http=true --config={{config}} --kubeconfig={{kubeconfig}}"
        options = argparse.Namespace(
            kubeconfig=kubeconfig, base_config=None, no_manager_start=False, manager=command, ready_timeout=60, audit_log=None,
            manager_agent="kueue", crds=[str(self.work / "crds")], no_webhooks=False, webhook_manifests=str(webhooks), no_kubelet=False,
            metrics_url=None, visibility_url=None)
        self.stage = player.Stage(options, str(self.work))
        self.stage.cluster = Broom(self.stage.admin)

    def wait_for_garbage_collector(self):
        """It looks for kinds that are new every half minute; until then Workloads outlive their Jobs."""
        admin, config_map = self.stage.admin, object_path("ConfigMap", "default", "owner")
        owner = admin.request("POST", object_path("ConfigMap", "default"), {"metadata": {"name": "owner"}}).json()
        owned = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {
            "name": "owned", "namespace": "default", "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]},
                 "spec": {"clusterQueue": "none"}}
        # CRDs ask for a conversion webhook only when versions differ, so no manager is needed yet.
        answer = admin.request("POST", object_path("LocalQueue", "default"), owned)
        if not answer.ok:
            raise RuntimeError(f"cannot make a LocalQueue: {answer.text[:300]}")
        admin.delete(config_map)
        _server.wait_until(lambda: not admin.get(object_path("LocalQueue", "default", "owned")).ok, "the garbage collector to know LocalQueues", 90)

    def play(self, plans, restart_before):
        """Records of the sequences by number; restart_before: the step before which the manager is started anew."""
        stage = self.stage
        stage.open({})
        kubelet = stage.make_kubelet(True)
        cache = ClusterCache(stage.admin, kubelet.on_change)
        try:
            stage.cluster.create_namespaces({_sequences.name_of(n): {} for n in plans})
            stage.cluster.create_nodes([{"name": "n1", "allocatable": {"cpu": "10000", "memory": "40000Gi", "pods": "20000"}}])
            cache.wait_synced()
            tracks = [Track(n, plan, stage, cache, kubelet) for n, plan in plans.items()]
            with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
                for number in range(max(len(p) for p in plans.values())):
                    if number == restart_before:
                        stage.manager.stop()
                        stage.manager.start(stage.configuration, stage.endpoints, keep_log=True)
                    list(pool.map(lambda track: track.act(number), tracks))
                    cache.wait_quiet(QUIET_S, 120)
                    self._record(number, tracks, cache)
            return {track.number: track.records for track in tracks}
        finally:
            cache.stop()
            kubelet.stop()
            stage.close()

    def _record(self, number, tracks, cache):
        items, seen, series = (collections.defaultdict(list) for _ in range(3))
        for key, item in cache.all():
            items[owner_of(key[0], item)].append((key, item))
        for kind, item in cache.all_seen():
            if kind in RECORDED_KINDS or kind == "Event":
                seen[owner_of(kind, item)].append((kind, item))
        for line in kept_series(self.stage.endpoints.metrics()):
            found = SEQUENCE.search(line)
            series[found and found[0]].append(line)
        for track in tracks:
            track.record(number, items[track.name], seen[track.name], series[track.name])


def kept_series(text):
    """Lines of Kueue's series that are not 0, without buckets, sums and what counts scheduling cycles."""
    for line in text.splitlines():
        name = re.split(r"[{ ]", line, maxsplit=1)[0]
        if (name.startswith("kueue_") and not name.endswith(("_bucket", "_sum")) and not line.endswith(" 0")
                and not (name.startswith("kueue_admission_attempt") and "inadmissible" in line)):
            yield line


def differences(want, got):
    """Findings of one sequence, those that must agree, without the one race: whether PodsReady was written before Finished."""
    found = []
    for one, other in zip(want, got):
        number = one["step"]
        found += [*compare.compare_responses(number, one, other), *compare.compare_objects(number, one["objects"], other["objects"]),
                  *compare.compare_events(number, one["events"], other["events"], set()),
                  *compare.compare_metrics(number, one["metrics"], other["metrics"])]
    failed = {name for picture in want + got for name, item in picture["objects"].items() if has_failed(name, item)}
    return [f for f in found if f.must_agree
            and not (f.part == "objects" and f.name in failed and f.path.startswith("/status/conditions/PodsReady/"))]


def has_failed(name, item):
    """A Workload of a Job that failed. A real Job controller may be through with both of its writes before the manager looks; the
    stand-in leaves a second between them."""
    return name.startswith("Workload/") and any(
        c["type"] == "Finished" and c.get("reason") == "Failed" for c in (item.get("status") or {}).get("conditions") or [])


def load_player():
    """The scenario player is a program without suffix."""
    loader = importlib.machinery.SourceFileLoader("scenario_player", str(PLAYER / "play"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Crosscheck:
    def __init__(self, args):
        self.args, self.player = args, load_player()

    def run(self, numbers):
        """Findings of each sequence that still differs after it was played again."""
        with tempfile.TemporaryDirectory(prefix="kueue-crosscheck-") as work, \
                _server.embedded(self.args.kueue, "--no-manager", "--stand-ins=scheduler,job-controller", "--nodes=none") as (
                    ours, process, log), _server.real() as theirs:
            servers = []
            for name, kubeconfig in (("embedded", ours), ("real", theirs)):
                (pathlib.Path(work) / name).mkdir()
                servers.append(Server(self.player, self.args.kueue, kubeconfig, f"{work}/{name}"))
                servers[-1].wait_for_garbage_collector()
            left, findings = list(numbers), {}
            for turn in range(1 + REPLAYS):
                findings = {}
                for first in range(0, len(left), self.args.batch):
                    findings |= self._batch(servers, left[first:first + self.args.batch], turn)
                left = sorted(findings)
                if not left:
                    break
                print(f"differ in play {turn + 1}: {left}", flush=True)
            if process.poll() is not None:
                raise RuntimeError(f"the embedded server ended: {_server.tail(log)}")
        return findings

    def _batch(self, servers, numbers, turn):
        plans = {n: _sequences.generate(self.args.seed, n, self.args.length) for n in numbers}
        restart = self.args.length // 2 if numbers[0] // self.args.batch % 2 else None
        started = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            ours, theirs = pool.map(lambda server: server.play(plans, restart), servers)
        print(f"{len(numbers)} sequences from {numbers[0]} on played in {time.monotonic() - started:.0f} s", flush=True)
        found = {}
        for n in numbers:
            findings = differences(theirs[n], ours[n])
            if findings:
                found[n] = findings
                self._write(n, turn, plans[n], ours[n], theirs[n], findings)
        return found

    def _write(self, number, turn, plan, ours, theirs, findings):
        if self.args.out:
            folder = pathlib.Path(self.args.out)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{_sequences.name_of(number)}.{turn}.json").write_text(json.dumps(
                {"findings": [str(f) for f in findings], "plan": plan, "ours": ours, "theirs": theirs}, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kueue", default=str(HERE.parents[1] / "build/dev/kueue"))
    parser.add_argument("--sequences", type=int, default=int(os.environ.get("KUEUE_SEQUENCES", "12")))
    parser.add_argument("--length", type=int, default=9)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--only", help="numbers of sequences")
    parser.add_argument("--out", help="folder for what was seen of sequences that differ")
    args = parser.parse_args()
    args.kueue = os.path.abspath(args.kueue)
    numbers = [int(n) for n in args.only.split(",")] if args.only else list(range(args.sequences))
    if _server.control_plane_binaries() is None:
        print("SKIPPED: a cross-check needs a real control plane (Go or built binaries)")
        print(f"0 passed, 0 failed, {len(numbers)} skipped")
        return 0
    print(f"{len(numbers)} sequences of {args.length} steps, seed {args.seed}", flush=True)
    findings = Crosscheck(args).run(numbers)
    for number, found in findings.items():
        print(f"sequence {number} differs in {len(found)} places (want: real, got: embedded)")
        for finding in found[:8]:
            print(f"   {finding}")
    print(f"{len(numbers) - len(findings)} passed, {len(findings)} failed, 0 skipped")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
