"""Bad documents and bad requests, over HTTP and through the commands: a clear Status or a clear line, and the server lives."""

import json
import threading
import time

from _faults import (APPLY, CLUSTER_QUEUES, COHORTS, CONFIG_MAPS, FLAVORS, JOBS, JSON_PATCH, LOCAL_QUEUES, MERGE, STRATEGIC,
                     WORKLOADS, YAML, check, cluster_queue, condition, config_map, fails, flavor, is_true, job, local_queue,
                     refused, run, wait)

MIB = 1 << 20
STRICT = "?fieldValidation=Strict"


def setup(raw):
    raw.create(FLAVORS, flavor())
    raw.create(CLUSTER_QUEUES, cluster_queue("queue"))
    raw.create(LOCAL_QUEUES, local_queue("local", "queue"))


def unknown_field(raw, _):
    body = cluster_queue("unknown")
    body["spec"]["namespaceSelectors"] = {}
    body["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuotas"] = 1
    refused(raw.send("POST", CLUSTER_QUEUES + STRICT, body), 400, 'unknown field "spec.namespaceSelectors"',
            'unknown field "spec.resourceGroups[0].flavors[0].resources[0].nominalQuotas"')
    warned = raw.send("POST", CLUSTER_QUEUES, body)
    check(warned.ok, warned.text)
    check("spec.namespaceSelectors" in str(warned.headers.get_all("Warning")), f"no warning: {warned.headers}")
    refused(raw.send("POST", JOBS + STRICT, job("unknown", "local") | {"sepc": {}}), 400, 'unknown field "sepc"')


def wrong_type(raw, _):
    body = job("typed", "local")
    body["spec"]["parallelism"] = "many"
    refused(raw.send("POST", JOBS, body), 400, "parallelism", "int32")
    body = cluster_queue("typed")
    body["spec"]["resourceGroups"] = {"a": 1}
    refused(raw.send("POST", CLUSTER_QUEUES, body), 400, "ClusterQueueSpec.spec.resourceGroups", "unmarshal object")
    for value in ([], 3, "x", None, [{}]):
        body = config_map("typed") | {"metadata": value}
        answer = raw.send("POST", CONFIG_MAPS, body)
        check(400 <= answer.status < 500, f"metadata {value!r}: {answer.status} {answer.text[:300]}")
    for text in (b"", b"[]", b"3", b'"x"', b"null", b"{", b"{}x", b'{"a":}', b"\xff\xfe{}", b"\0", b"{\"a\":1e999999}"):
        refused(raw.send("POST", CONFIG_MAPS, text), 400 if text != b"{\"a\":1e999999}" else 400)


def immutable_field(raw, _):
    made = raw.create(JOBS, job("fixed", "nowhere", suspend=True))
    del made["metadata"]["resourceVersion"]
    made["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    refused(raw.send("PUT", f"{JOBS}/fixed", made), 409, "uid", reason="Conflict")
    del made["metadata"]["uid"]
    made["spec"]["completionMode"] = "Indexed"
    refused(raw.send("PUT", f"{JOBS}/fixed", made), 422, "spec.completionMode", "immutable", reason="Invalid")
    made = raw.create(FLAVORS, flavor("fixed"))
    patch = {"metadata": {"name": "other"}}
    check(not raw.send("PATCH", f"{FLAVORS}/fixed", patch, MERGE).ok, "a name can be changed")
    raw.create(WORKLOADS, {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "fixed"},
                           "spec": {"queueName": "nowhere", "podSets": [{"name": "main", "count": 1, "template": {"spec": {
                               "restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}}]}})
    check(raw.send("DELETE", f"{WORKLOADS}/fixed").ok, "a Workload cannot be deleted")


def quantity_out_of_range(raw, _):
    for text in ("lots", "1.2.3", "9e", "1Zi", "--1", "-1", "1e99999999999", "0x10", " 1", "", "1" * 5000):
        answer = raw.send("POST", CLUSTER_QUEUES, cluster_queue("amounts", cpu=text))
        refused(answer, answer.status if answer.status in (403, 422) else 400, "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota")
        answer = raw.send("POST", JOBS, job("amounts", "local", cpu=text))
        refused(answer, 422 if answer.status == 422 else 400, "spec.template.spec.containers[0].resources.requests[cpu]")
    for text in ("9223372036854775807", "9Ei", "1e18", "1e30", "0.0000000001", "9223372036854775808"):
        answer = raw.send("POST", CLUSTER_QUEUES, cluster_queue("large", cpu=text))
        check(answer.ok or answer.status in (400, 422), f"{text}: {answer.status} {answer.text[:300]}")
        if answer.ok:
            check(raw.send("DELETE", f"{CLUSTER_QUEUES}/large").ok, "cannot delete")
            wait(lambda: raw.send("GET", f"{CLUSTER_QUEUES}/large").status == 404, "the deletion")
    # Sums beyond 64 bits: nothing is admitted, nothing overflows into "fits".
    for name, amount, pods in (("sum", "9223372036854775807", 3), ("many", "1e15", 2147483647)):
        body = job(f"large-{name}", "local", cpu=amount, parallelism=1)
        body["spec"]["parallelism"] = body["spec"]["completions"] = pods
        raw.create(JOBS, body)
        found = wait(lambda: workload_of(raw, f"large-{name}"), f"the Workload of large-{name}")
        wait(lambda: condition(workload_of(raw, f"large-{name}"), "QuotaReserved"), "a decision")
        check(not is_true(workload_of(raw, f"large-{name}"), "QuotaReserved"), f"admitted: {found}")
        raw.send("DELETE", f"{JOBS}/large-{name}?propagationPolicy=Background")


def workload_of(raw, job_name):
    for item in raw.get(WORKLOADS)["items"]:
        if any(o["name"] == job_name for o in item["metadata"].get("ownerReferences", [])):
            return item
    return None


def circular_cohort(raw, _):
    def cohort(name, parent):
        return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": name},
                "spec": {"parentName": parent}}
    raw.create(COHORTS, cohort("round-a", "round-b"))
    raw.create(COHORTS, cohort("round-b", "round-c"))
    raw.create(CLUSTER_QUEUES, cluster_queue("round", cohortName="round-a"))
    raw.create(LOCAL_QUEUES, local_queue("round", "round"))
    raw.create(COHORTS, cohort("round-c", "round-a"))
    raw.create(COHORTS, cohort("round-self", "round-self"))
    raw.create(JOBS, job("round", "round"))
    wait(lambda: condition(raw.get(f"{CLUSTER_QUEUES}/round"), "Active").get("status") == "False",
         "the ClusterQueue in a circle to be inactive")
    active = condition(raw.get(f"{CLUSTER_QUEUES}/round"), "Active")
    check("cycle" in active["message"].lower(), f"the message does not name the cycle: {active}")
    check(not is_true(wait(lambda: workload_of(raw, "round"), "a Workload"), "QuotaReserved"), "admitted in a circle")
    check(raw.send("PATCH", f"{COHORTS}/round-c", {"spec": {"parentName": None}}, MERGE).ok, "cannot open the circle")
    wait(lambda: is_true(raw.get(f"{JOBS}/round"), "Complete"), "the Job to run once the circle is open")


def queue_that_does_not_exist(raw, _):
    raw.create(JOBS, job("lost", "no-such-queue"))
    found = wait(lambda: workload_of(raw, "lost"), "a Workload")
    reserved = wait(lambda: condition(workload_of(raw, "lost"), "QuotaReserved"), "a condition")
    check("no-such-queue" in reserved["message"] and "exist" in reserved["message"], f"unclear: {reserved}")
    raw.create(LOCAL_QUEUES, local_queue("hollow", "no-such-cluster-queue"))
    wait(lambda: condition(raw.get(f"{LOCAL_QUEUES}/hollow"), "Active").get("reason") == "ClusterQueueDoesNotExist", "the LocalQueue's reason")
    raw.create(JOBS, job("hollow", "hollow"))
    wait(lambda: "no-such-cluster-queue" in condition(workload_of(raw, "hollow") or {}, "QuotaReserved").get("message", ""),
         "the Workload's reason")
    raw.create(CLUSTER_QUEUES, cluster_queue("hollow", flavor_name="no-such-flavor"))
    wait(lambda: "no-such-flavor" in condition(raw.get(f"{CLUSTER_QUEUES}/hollow"), "Active").get("message", ""),
         "the ClusterQueue's reason")
    raw.create(LOCAL_QUEUES, local_queue("no-such-queue", "queue"))
    wait(lambda: is_true(raw.get(f"{JOBS}/lost"), "Complete"), f"the Job to run once its queue exists: {found}")


def large_objects(raw, _):
    body = config_map("large", data={"a": "x" * (3 * MIB + 100)})
    refused(raw.send("POST", CONFIG_MAPS, body), 413, "too large", reason="RequestEntityTooLarge")
    raw.close()
    refused(raw.send("POST", CONFIG_MAPS, config_map("large", data={"a": "x" * (MIB + 1)})), 422, "data", "1048576")
    refused(raw.send("POST", CONFIG_MAPS, config_map("large", metadata={"name": "large", "annotations": {"a": "x" * 262144}})),
            422, "metadata.annotations", "262144")
    # What a client of etcd can store, this server can: near 1 MiB, and several times.
    for n in range(3):
        raw.create(CONFIG_MAPS, config_map(f"large-{n}", data={"a": "x" * (MIB - 10)}))
    check(len(raw.get(f"{CONFIG_MAPS}/large-2")["data"]["a"]) == MIB - 10, "not all of it came back")
    # A custom object close to the limit of a request.
    grown = cluster_queue("grown")
    grown["metadata"]["annotations"] = {f"k{n}": "y" * 1000 for n in range(250)}
    raw.create(CLUSTER_QUEUES, grown)
    # Small patches that would grow an object without bound.
    big = [{"op": "add", "path": "/data/a", "value": "x"}] + [
        {"op": "copy", "from": "/data", "path": f"/data{n}"} for n in range(5000)]
    answer = raw.send("PATCH", f"{CONFIG_MAPS}/large-0", big, JSON_PATCH)
    check(answer.ok, f"{answer.status} {answer.text[:300]}")
    warnings = answer.headers.get_all("Warning")
    check(0 < len(warnings) < 90 and sum(map(len, warnings)) < 8192, f"{len(warnings)} lines of warnings")
    grow = [{"op": "add", "path": "/data/b", "value": "x" * MIB}] + [{"op": "copy", "from": "/data/b", "path": f"/data/b{n}"} for n in range(9000)]
    refused(raw.send("PATCH", f"{CONFIG_MAPS}/large-1", grow, JSON_PATCH), 413, "/data/b", "copies")
    nest = [{"op": "add", "path": "/x", "value": {}}] + [{"op": "copy", "from": "/x", "path": f"/x/{n}"} for n in range(40)]
    refused(raw.send("PATCH", f"{CONFIG_MAPS}/large-0", nest, JSON_PATCH), 413, "copies")
    many = [{"op": "test", "path": "/metadata/name", "value": "large-0"}] * 10001
    refused(raw.send("PATCH", f"{CONFIG_MAPS}/large-0", many, JSON_PATCH), 413, "10000")


def ten_thousand_labels(raw, _):
    labels = {f"label-{n}": f"value-{n}" for n in range(10_000)}
    body = job("labels", "local")
    body["metadata"]["labels"] |= labels
    answer = raw.send("POST", JOBS, body)
    check(answer.ok, f"{answer.status} {answer.text[:300]}")
    wait(lambda: is_true(raw.get(f"{JOBS}/labels"), "Complete"), "the Job with 10,000 labels")
    selector = ",".join(f"label-{n}%3Dvalue-{n}" for n in range(1000))
    found = raw.get(f"{JOBS}?labelSelector={selector}")["items"]
    check([i["metadata"]["name"] for i in found] == ["labels"], "not found by its labels")
    bad = config_map("bad-labels")
    bad["metadata"]["labels"] = {f"bad label {n}": "x" for n in range(10_000)}
    refused(raw.send("POST", CONFIG_MAPS, bad), 422, "metadata.labels", reason="Invalid")
    bad["metadata"]["labels"] = {"a" * 64: "x", "b": "y" * 64, "-": "z"}
    refused(raw.send("POST", CONFIG_MAPS, bad), 422, "metadata.labels", "63")


def deep_json(raw, _):
    for text in (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, b"[" * 1_000_000, b'{"metadata":' * 200_000,
                 b'{"metadata":{"name":"deep"},"data":' + b"[" * 5000 + b"]" * 5000 + b"}"):
        refused(raw.send("POST", CONFIG_MAPS, text), 400)
        refused(raw.send("PATCH", f"{CONFIG_MAPS}/kube-root-ca.crt", text, MERGE), 400)
        refused(raw.send("PATCH", f"{CONFIG_MAPS}/kube-root-ca.crt", text, STRATEGIC), 400)
        refused(raw.send("POST", CONFIG_MAPS, text, YAML), 400)
    for text in (b"a: " + b"[" * 100_000, b"- " * 100_000, b"{a: " * 100_000, b"? " * 50_000, b"".join(
            b" " * n + b"a:\n" for n in range(2000))):
        refused(raw.send("POST", CONFIG_MAPS, text, YAML), 400)


def duplicate_keys(raw, _):
    text = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},"data":{"a":"1","b":"2","a":"3"}}'
    refused(raw.send("POST", CONFIG_MAPS + STRICT, text), 400, 'duplicate field "data.a"')
    answer = raw.send("POST", CONFIG_MAPS, text)
    check(answer.ok and "duplicate field" in str(answer.headers.get_all("Warning")), f"{answer.status} {answer.headers}")
    check(answer.json()["data"] == {"a": "3", "b": "2"}, f"not the last one: {answer.json()['data']}")
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: thrice}\ndata:\n  a: one\n  a: two\n"
    refused(raw.send("POST", CONFIG_MAPS + STRICT, text, YAML), 400, "a")


def invalid_utf8(raw, _):
    for data in (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80"):
        text = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bytes"},"data":{"a":"' + data + b'"}}'
        refused(raw.send("POST", CONFIG_MAPS, text), 400)
        refused(raw.send("POST", CONFIG_MAPS, text, YAML), 400)
    for escape in (b"\\ud800", b"\\udc00x", b"\\u00", b"\\x41"):
        text = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"escape"},"data":{"a":"' + escape + b'"}}'
        answer = raw.send("POST", CONFIG_MAPS, text)
        check(answer.status in (201, 400), f"{escape}: {answer.status} {answer.text[:300]}")
        if answer.ok:
            raw.get(f"{CONFIG_MAPS}/escape")["data"]["a"].encode()
            raw.send("DELETE", f"{CONFIG_MAPS}/escape")
    raw.send("GET", "/api/v1/namespaces/%ff/configmaps")
    for path in ("/api/v1/namespaces/default/configmaps/%00", "/api/v1/%zz", "/%2e%2e/%2e%2e",
                 "/api/v1/namespaces/default/configmaps/" + "n" * 8000, "/api//v1", "/apis/" + "a/" * 3000):
        answer = raw.send("GET", path)
        check(400 <= answer.status < 500, f"{path[:60]}: {answer.status}")


def yaml_bombs(raw, kueue):
    lines = [b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for n in range(1, 12):
        lines.append(b"a%d: &a%d [%s]" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10)))
    bomb = b"\n".join(lines)
    loops = b"a: &a [*a]"
    merge = b"base: &b {a: 1}\n" + b"".join(b"x%d: {<<: *b}\n" % n for n in range(10))
    head = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\ndata:\n"
    for text in (bomb, loops, head + b"  a: *nobody\n",
                 head + b"\t a: b", b"!!binary x", head + b"  a: &a\n    <<: *a\n"):
        refused(raw.send("POST", CONFIG_MAPS, text, YAML), 400)
        refused(raw.send("PATCH", f"{CONFIG_MAPS}/bomb?fieldManager=x", text, APPLY), 400)
        fails([*kueue, "apply", "-f", "-"], 1, "error", stdin=text)
    check(raw.send("POST", CONFIG_MAPS, merge, YAML).status in (400, 422), "no name, and taken")


def stale_version(raw, _):
    first = raw.create(CONFIG_MAPS, config_map("stale"))
    second = raw.send("PUT", f"{CONFIG_MAPS}/stale", first | {"data": {"a": "c"}})
    check(second.ok, second.text)
    refused(raw.send("PUT", f"{CONFIG_MAPS}/stale", first | {"data": {"a": "d"}}), 409, "stale", "modified", reason="Conflict")
    for version in ("x", "-1", "18446744073709551616", "1.5"):
        body = config_map("stale")
        body["metadata"]["resourceVersion"] = version
        answer = raw.send("PUT", f"{CONFIG_MAPS}/stale", body)
        refused(answer, answer.status if answer.status in (400, 409, 422) else 422, "resourceVersion" if answer.status != 409 else "")
        refused(raw.send("GET", f"{CONFIG_MAPS}?watch=true&resourceVersion={version}"), 400, "resourceVersion")
        refused(raw.send("GET", f"{CONFIG_MAPS}?resourceVersion={version}"), 400, "resourceVersion")
    answer = raw.send("GET", f"{CONFIG_MAPS}?resourceVersion=9000000000000000000&timeoutSeconds=1")
    refused(answer, 504, "large resource version")
    refused(raw.send("GET", f"{CONFIG_MAPS}?limit=1&continue=garbage"), 400, "continue")
    for query in ("limit=x", "limit=-1", "labelSelector=%3D%3D%3D", "fieldSelector=nope", "fieldSelector=spec.x%3D1", "timeoutSeconds=x",
                  "watch=perhaps", "sendInitialEvents=x"):
        answer = raw.send("GET", f"{CONFIG_MAPS}?{query}")
        check(answer.status in (200, 400, 422), f"{query}: {answer.status} {answer.text[:200]}")
    check(raw.get(f"{CONFIG_MAPS}/stale")["data"] == {"a": "c"}, "changed by a stale write")


def racing_writers(raw, _):
    """Read, change, write from many threads: every acknowledged step counts exactly once."""
    from _faults import Raw
    raw.create(CONFIG_MAPS, config_map("race", data={"n": "0"}))
    done, errors = [], []

    def writer():
        mine = Raw(raw.config.path)
        try:
            for _ in range(25):
                while True:
                    item = mine.get(f"{CONFIG_MAPS}/race")
                    item["data"]["n"] = str(int(item["data"]["n"]) + 1)
                    answer = mine.send("PUT", f"{CONFIG_MAPS}/race", item)
                    if answer.status != 409:
                        break
                check(answer.ok, answer.text)
                done.append(1)
        except Exception as error:  # shown by the main thread
            errors.append(error)
        finally:
            mine.close()
    threads = [threading.Thread(target=writer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    check(not errors, f"{errors[:1]}")
    check(raw.get(f"{CONFIG_MAPS}/race")["data"]["n"] == str(len(done)) == "100", "a write was lost")


def odd_methods_and_types(raw, _):
    refused(raw.send("POST", CONFIG_MAPS, b"a", "text/plain"), 415, "application/json")
    refused(raw.send("PATCH", f"{CONFIG_MAPS}/stale", b"{}", "application/json"), 415)
    refused(raw.send("BREW", CONFIG_MAPS), 405)
    refused(raw.send("DELETE", "/api/v1/namespaces"), 405)
    refused(raw.send("POST", f"{CONFIG_MAPS}/name", config_map("name")), 405)
    check(raw.send("GET", "/apis/kueue.x-k8s.io/v9/clusterqueues").status == 404, "a version that is not there")
    refused(raw.send("POST", "/api/v1/namespaces/absent/configmaps", config_map("x")), 404, "absent")
    raw.create(CONFIG_MAPS, config_map("patched"))
    refused(raw.send("PATCH", f"{CONFIG_MAPS}/patched", [{"op": "jump", "path": "/a"}], JSON_PATCH), 400, "jump")
    refused(raw.send("PATCH", f"{CONFIG_MAPS}/patched", [{"op": "remove", "path": "/no/such"}], JSON_PATCH), 422, "/no/such")
    answer = raw.send("POST", CONFIG_MAPS, b"\x1f\x8b garbage", headers={"Content-Encoding": "gzip"})
    check(400 <= answer.status < 500, f"{answer.status}")
    answer = raw.send("POST", CONFIG_MAPS, b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff", "application/vnd.kubernetes.protobuf")
    refused(answer, 400)


def cli_errors(raw, kueue):
    good = json.dumps(config_map("by-hand")).encode()
    fails([*kueue, "apply", "-f", "/no/such/file"], 1, "/no/such/file")
    fails([*kueue, "apply", "-f", "-"], 1, "apiVersion", stdin=b"a: b")
    fails([*kueue, "apply", "-f", "-"], 1, "data", stdin=json.dumps(config_map("x", data={"a": 1})).encode())
    fails([*kueue, "get", "nonsense"], 1, "nonsense")
    fails([*kueue, "get", "jobs", "absent"], 1, "absent", "not found")
    fails([*kueue, "get", "jobs", "-o", "picture"], 2, "picture")
    fails([*kueue, "frobnicate"], 2, "frobnicate")
    fails([*kueue, "get"], 2)
    fails([*kueue, "explain", "job.spec.nothing"], 1, "nothing")
    # The good part of a file is applied, the bad part is named.
    done = run([*kueue, "apply", "-f", "-"], stdin=good + b"\n---\n" + b'{"apiVersion":"v1","kind":"Nonsense","metadata":{"name":"x"}}')
    check(done.returncode == 1 and b"Nonsense" in done.stderr, f"{done.returncode} {done.stderr[:500]}")
    check(raw.send("GET", f"{CONFIG_MAPS}/by-hand").ok, "the good object was not applied")


TESTS = [unknown_field, wrong_type, immutable_field, quantity_out_of_range, circular_cohort, queue_that_does_not_exist,
         large_objects, ten_thousand_labels, deep_json, duplicate_keys, invalid_utf8, yaml_bombs, stale_version,
         racing_writers, odd_methods_and_types, cli_errors]
