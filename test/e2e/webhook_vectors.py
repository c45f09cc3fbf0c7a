#!/usr/bin/env python3
"""Recorded admission and conversion cases, sent through a real API server: its schema, its admission chain, our webhooks, our
conversion. The same cases are judged in process, all of them, by the suite `vectors`.

Usage: webhook_vectors.py --kueue BINARY [--only ID] [--verbose]
A case counts where a cluster can hold its objects: what a server without our webhooks refuses too (a schema's rule that a
unit test may break) is left out and counted. One user is not asked to pass the webhooks and prepares what a case finds;
another sends the case, as a dry run.
"""

import argparse
import collections
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLAYER = HERE.parent / "scenarios" / "player"
sys.path[:0] = [str(HERE), str(PLAYER)]
sys.dont_write_bytecode = True

import _server  # noqa: E402
import _tally  # noqa: E402
import cluster  # noqa: E402
import crosscheck  # noqa: E402
from kube import KINDS, MERGE_PATCH, Client, object_path  # noqa: E402

TABLES = pathlib.Path(os.environ.get("KUEUE_SHARED") or ROOT.parent / "shared") / "vectors" / "tables"
# Folders whose admission and conversion cases are about kinds that the manager serves webhooks for.
AREAS = ("webhooks", "jobs-job", "apis-kueue-v1beta1")
# Of each of these at least one case must be one that a real server can play.
MUST_BE_SEEN = {("admission", "ClusterQueue"), ("admission", "ResourceFlavor"), ("admission", "Workload"), ("admission", "Job"),
                ("convert", "ClusterQueue"), ("convert", "LocalQueue"), ("convert", "Workload")}
JOB_KINDS = TABLES.parents[1] / "schemas" / "jobs"
CONTROLLERS = "admissioncheck_controller,clusterqueue_controller,localqueue_controller"  # what webhooks ask caches about
SETUP = "setup"
DRY_RUN = {"dryRun": "All"}
SERVER_FIELDS = {"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation"}


class NotRepresentable(Exception):
    """A real server cannot hold the objects of the case, whoever is asked."""


class SetupClient(Client):
    """Sends as the user whom the webhooks are not asked about."""

    def _headers(self):
        return {**super()._headers(), "Impersonate-User": SETUP, "Impersonate-Group": "system:masters"}


def cases():
    differing = json.loads((ROOT / "test" / "vectors" / "differences.json").read_text())
    for area in AREAS:
        for path in sorted((TABLES / area).glob("*.json")):
            document = json.loads(path.read_text())
            for case in document["cases"]:
                kind = case.get("kind") or document["kind"]
                given = case["input"].get("object")
                if (kind in ("admission", "convert") and isinstance(given, dict) and given.get("kind") in KINDS
                        and case["id"] not in differing):
                    yield kind, case


def settings_of(case):
    """The Configuration that the case wants, as text: gates, kinds of jobs, whether jobs without a queue are taken; and the
    reconcilers that must run."""
    given = case["input"]
    controllers = CONTROLLERS if given.get("setup") else ""
    without_queue = any((given.get(part) or {}).get("manageJobsWithoutQueueName") for part in ("options", "args", "raw"))
    kinds = (given.get("raw") or {}).get("enableIntegrations") or []
    return json.dumps({"featureGates": case.get("featureGates") or {}, "manageJobsWithoutQueueName": bool(without_queue),
                       "integrations": {"frameworks": ["batch/job", *kinds]}}, sort_keys=True), controllers


def found_by(case):
    """The objects that a case finds in the cluster, or in the caches of a manager, each once."""
    given, found = case["input"], {}
    calls = [argument for step in given.get("setup") or [] for argument in (step.get("args") or {}).values()]
    for item in [*(given.get("objects") or []), *calls]:
        if isinstance(item, dict) and "kind" in item and "metadata" in item:
            found.setdefault((item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]), complete(item))
    return found.values()


def changed(stored, old, new):
    """`stored`, which began as `old`, with what `new` has otherwise."""
    if not (isinstance(stored, dict) and isinstance(old, dict) and isinstance(new, dict)):
        return copy.deepcopy(new)
    result = {key: value for key, value in stored.items() if key not in old or key in new}
    for key, value in new.items():
        if key not in old or old[key] != value:
            result[key] = changed(stored.get(key), old.get(key), value)
    return result


def complete(item):
    """The object with what a schema asks for and a unit test leaves out."""
    item = copy.deepcopy(item)
    if item["kind"] == "Workload":
        item["spec"] = item.get("spec") or {}
        if not item["spec"].get("podSets"):
            container = {"name": "c", "image": "none"}
            item["spec"]["podSets"] = [{"name": "main", "count": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}]
    return item


def contains(whole, part):
    """Whether what `part` says stands in `whole`; what is empty need not be there."""
    if isinstance(part, dict):
        return isinstance(whole or {}, dict) and all(
            contains((whole or {}).get(key), value) for key, value in part.items() if key not in SERVER_FIELDS)
    if isinstance(part, list):
        return not part or isinstance(whole, list) and len(whole) == len(part) and all(map(contains, whole, part))
    return whole == part or (not part and not whole)


def path_of(item, subresource=None, named=True):
    meta, version = item["metadata"], item["apiVersion"].rsplit("/", 1)[-1]
    namespace = meta.get("namespace") or "default"
    return object_path(item["kind"], namespace, meta["name"] if named else None, subresource, version)


class Play:
    """One case at a time on a server with a manager."""

    def __init__(self, stage):
        self.user, self.setup, self.made = stage.user, SetupClient(stage.kubeconfig, "setup"), []

    def make_namespace(self, item):
        namespace = item["metadata"].get("namespace")
        if namespace and not self.setup.get(object_path("Namespace", None, namespace)).ok:
            self.setup.request("POST", object_path("Namespace"), {"metadata": {"name": namespace}})

    def make(self, item):
        """Puts an object into the cluster, past the webhooks, with its status."""
        self.make_namespace(item)
        answer = self.setup.request("POST", path_of(item, named=False), item)
        if not answer.ok:
            raise NotRepresentable(answer.text)
        self.made.append(item)
        stored = answer.json()
        if item.get("status"):
            answer = self.setup.request("PATCH", path_of(item, "status"), {"status": item["status"]}, MERGE_PATCH)
            if not answer.ok:
                raise NotRepresentable(answer.text)
            stored = answer.json()
        return stored

    def prepare(self, case):
        for item in found_by(case):
            if item["kind"] not in KINDS:
                raise NotRepresentable(f"a {item['kind']} is unknown to the server")
            if item["kind"] != "Namespace" or not self.setup.get(path_of(item)).ok:
                self.make(item)

    def request_of(self, case):
        """Method, path and body of what the case sends. A new object with a status is one that gets it."""
        item, old = complete(case["input"]["object"]), case["input"].get("oldObject")
        if not old and item["kind"] == "Workload" and item.get("status"):
            old = {**item, "status": None}
        if not old:
            self.make_namespace(item)
            return "POST", path_of(item, named=False), item
        old = complete(old)
        stored = self.make(old)
        parts = [part for part in {*old, *item} if (old.get(part) or {}) != (item.get(part) or {})]
        if "status" in parts and len(parts) > 1:
            raise NotRepresentable("spec and status change in one request")
        body = changed(stored, old, item)
        if item["kind"] == "Job":  # its controller writes at the same time, and the server does not insist
            del body["metadata"]["resourceVersion"]
        return "PUT", path_of(item, "status" if parts == ["status"] else None), body

    def admission(self, case):
        self.prepare(case)
        method, path, item = self.request_of(case)
        unasked = self.setup.request(method, path, item, params=DRY_RUN)
        if not unasked.ok:
            raise NotRepresentable(unasked.text)
        expect, seen = case["expect"], {}

        def agrees():
            answer = seen["answer"] = self.user.request(method, path, item, params=DRY_RUN)
            if case["input"]["phase"] == "default":
                return answer.ok and contains(answer.json(), expect["object"])
            errors = expect.get("errors") or []
            if not errors and not expect.get("error"):
                return answer.ok
            return answer.status in (403, 422) and "admission webhook" in answer.text and all(e["field"] in answer.text for e in errors)
        try:  # the manager may not yet have heard of what was prepared
            _server.wait_until(agrees, "the expected answer", 3)
        except RuntimeError:
            raise AssertionError(f"expected {json.dumps(expect)[:600]}, saw {seen['answer'].status} {seen['answer'].text[:900]}") from None

    def convert(self, case):
        expect = case["expect"]
        if expect.get("error"):
            raise NotRepresentable("a conversion that fails")
        item = complete(case["input"]["object"])
        self.make(item)
        wanted = complete(expect["object"])
        answer = self.setup.get(path_of(wanted))
        _tally.check(answer.ok and contains(answer.json(), wanted),
                     f"expected {json.dumps(wanted)[:600]}, saw {answer.status} {answer.text[:900]}")

    def clean(self):
        for item in reversed(self.made):
            path = path_of(item)
            self.setup.delete(path, gracePeriodSeconds=0, propagationPolicy="Background")
            self.setup.request("PATCH", path, {"metadata": {"finalizers": None}}, MERGE_PATCH)
            _server.wait_until(lambda: self.setup.get(path).status == 404, f"the end of {path}")
        self.made = []


def open_stage(kueue, kubeconfig, work):
    """A manager that knows queues and admits nothing behind the server, and webhooks that one user need not pass."""
    server = crosscheck.Server(crosscheck.load_player(), kueue, kubeconfig, work)
    stage = server.stage
    stage.manager.template += " --scheduler=false"
    cluster.install_crds(stage.admin, JOB_KINDS, stage.webhooks)
    for configuration in stage.webhooks.configurations:
        for hook in configuration["webhooks"]:
            hook.setdefault("matchConditions", []).append({"name": "not-setup", "expression": f"request.userInfo.username != '{SETUP}'"})
    return stage


def play_all(stage, tally, only, verbose):
    groups = collections.defaultdict(list)
    for kind, case in cases():
        if not only or case["id"] in only:
            groups[settings_of(case)].append((kind, case))
    left_out, seen = 0, set()
    template = stage.manager.template
    for (settings, controllers), members in sorted(groups.items()):
        stage.manager.template = f"{template} --controllers={controllers}"
        stage.open({"config": json.loads(settings)})
        play = Play(stage)
        for kind, case in members:
            try:
                getattr(play, kind)(case)
                tally.passed += 1
                seen.add((kind, case["input"]["object"]["kind"]))
                if verbose:
                    print(f"ok      {case['id']}")
            except NotRepresentable as why:
                left_out += 1
                if verbose:
                    print(f"left out {case['id']}: {str(why)[:300]}")
            except AssertionError as why:
                tally.fail(case["id"], why)
            finally:
                play.clean()
        stage.close()
    print(f"{left_out} cases hold what no server would store; they are judged in process only")
    return seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kueue", required=True)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    tally = _tally.Tally()
    if not TABLES.is_dir():
        tally.skip("webhook_vectors", f"no recorded cases at {TABLES}")
        return tally.end()
    with tempfile.TemporaryDirectory(prefix="kueue-webhook-vectors-") as work, _server.real() as kubeconfig:
        if kubeconfig is None:
            tally.skip("webhook_vectors", "no real control plane here (it is built with Go)")
            return tally.end()
        seen = play_all(open_stage(args.kueue, kubeconfig, work), tally, args.only, args.verbose)
    if not args.only:
        for kind, plural in sorted(MUST_BE_SEEN - seen):
            tally.fail(f"{kind} of {plural}", "no case was played")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
