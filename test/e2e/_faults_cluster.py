"""Faults in the life of queues, jobs and managers: two managers, vanishing queues, edited jobs, floods, webhooks that refuse, idleness."""

import contextlib
import http.server
import json
import os
import pathlib
import signal
import ssl
import subprocess
import tempfile
import threading
import time

import _server
from _faults import (CLUSTER_QUEUES, FLAVORS, JOBS, KUEUE, LOCAL_QUEUES, MERGE, WORKLOADS, Raw, check, cluster_queue, condition,
                     config_map, cpu_seconds, flavor, is_true, job, local_queue, wait)

JOBS_AT_ONCE = int(os.environ.get("KUEUE_FLOOD", "3000"))
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases/c1f6bfd2.kueue.x-k8s.io"


def setup(raw, cpu="4", **spec):
    raw.create(FLAVORS, flavor())
    raw.create(CLUSTER_QUEUES, cluster_queue("queue", cpu=cpu, **spec))
    raw.create(LOCAL_QUEUES, local_queue("local", "queue"))


def workloads(raw):
    return {o["name"]: w for w in raw.get(WORKLOADS)["items"] for o in w["metadata"].get("ownerReferences", [])}


def reserved_cpus(raw):
    total = 0
    for w in raw.get(WORKLOADS)["items"]:
        if is_true(w, "QuotaReserved") and not is_true(w, "Finished"):
            total += sum(int(s["resourceUsage"]["cpu"]) for s in w["status"]["admission"]["podSetAssignments"])
    return total


def holder(raw):
    answer = raw.send("GET", LEASE)
    return answer.json()["spec"].get("holderIdentity", "") if answer.ok else ""


@contextlib.contextmanager
def manager(kueue, kubeconfig, work, name):
    """A `kueue manager` with short leases."""
    config = pathlib.Path(work) / f"{name}.yaml"
    config.write_text(json.dumps({
        "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "127.0.0.1:0"}, "webhook": {"host": "127.0.0.1", "port": free_port()},
        "internalCertManagement": {"enable": False}, "visibilityServer": {"bindAddress": "127.0.0.1", "bindPort": free_port()},
        "leaderElection": {"leaderElect": True, "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"}}))
    certificates = pathlib.Path(work)
    config_text = json.loads(config.read_text())
    config_text["webhook"]["certDir"] = str(certificates)
    config.write_text(json.dumps(config_text))
    with open(f"{work}/{name}.log", "wb") as out:
        process = subprocess.Popen([kueue, "manager", f"--config={config}", f"--kubeconfig={kubeconfig}"], stdout=out, stderr=out,
                                   stdin=subprocess.DEVNULL)
    process.log = f"{work}/{name}.log"
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
        _server.stop(process)


def free_port():
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def two_managers(args):
    """One leads, the other takes over when that one is killed or frozen; at no time more is admitted than there is."""
    with tempfile.TemporaryDirectory(prefix="kueue-managers-") as work, \
            _server.embedded(args.kueue, "--no-manager", "--nodes=4x16cpu,32Gi") as (kubeconfig, _, _):
        raw = Raw(kubeconfig)
        make_certificate(work)
        raw.create("/api/v1/namespaces", {"metadata": {"name": "kueue-system"}})
        setup(raw)
        for n in range(40):
            raw.create(JOBS, job(f"j-{n}", "local", seconds=0.3, suspend=True))
        most = [0]

        def finished():
            most[0] = max(most[0], reserved_cpus(raw))
            return sum(1 for j in raw.get(JOBS)["items"] if is_true(j, "Complete"))
        with manager(args.kueue, kubeconfig, work, "a") as a, manager(args.kueue, kubeconfig, work, "b") as b:
            wait(lambda: finished() >= 5, "the first Jobs", 60, None, a.log)
            leader = holder(raw)
            check(leader, "nobody holds the lease")
            check(a.poll() is None and b.poll() is None, "a manager ended")
            # Which of them it is only the lease tells: freeze one, and see whether the work goes on.
            a.send_signal(signal.SIGSTOP)
            done = finished()
            wait(lambda: finished() >= done + 8, "the other one to go on", 60, b, b.log)
            a.send_signal(signal.SIGCONT)
            second = holder(raw)
            if second != leader:
                wait(lambda: a.poll() is not None, "the one whose lease was lost to end", 20)
                check(a.returncode == 1, f"exit code {a.returncode}")
                check("lease" in _server.tail(a.log), "it does not say why it ended")
            else:  # b led all the time: a still waits
                check(a.poll() is None, f"the one that waits ended: {_server.tail(a.log)}")
            with manager(args.kueue, kubeconfig, work, "c") as c:
                b.kill()
                b.wait()
                wait(lambda: finished() == 40, "all Jobs", 90, None, c.log)
        check(most[0] <= 4, f"{most[0]} CPUs were reserved of 4")
        names = [o["name"] for w in raw.get(WORKLOADS)["items"] for o in w["metadata"].get("ownerReferences", [])]
        check(len(names) == len(set(names)) == 40, "two Workloads of one Job")
        raw.close()


def make_certificate(work):
    """The webhooks' certificate, which `kueue manager` is told to use."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{work}/tls.key",
                    "-out", f"{work}/tls.crt", "-subj", "/CN=localhost", "-days", "2", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"],
                   check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def manager_beside_playground(args):
    """A `kueue manager` on a playground that has its own waits, also after the playground was killed and came back."""
    with tempfile.TemporaryDirectory(prefix="kueue-managers-") as work:
        make_certificate(work)
        for number, kill in enumerate((True, False)):
            with _server.embedded(args.kueue, memory=False, data_dir=f"{work}/data") as (kubeconfig, process, log):
                raw = Raw(kubeconfig)
                if kill:
                    setup(raw, cpu="2")
                check(holder(raw) == "kueue-up", f"the lease is held by {holder(raw)!r}")
                with manager(args.kueue, kubeconfig, work, "outside") as outside:
                    for n in range(12):
                        raw.create(JOBS, job(f"j-{number}-{n}", "local", seconds=0.2))

                    def all_done():
                        check(reserved_cpus(raw) <= 2, "more is reserved than there is")
                        check(holder(raw) == "kueue-up", f"the lease went to {holder(raw)!r}")
                        return all(is_true(j, "Complete") for j in raw.get(JOBS)["items"])
                    wait(all_done, "the Jobs", 60, process, log)
                    check(outside.poll() is None, f"the outside manager ended: {_server.tail(outside.log)}")
                if kill:
                    process.kill()
                    process.wait()
                raw.close()
        # Without its own, the outside one need not wait for a lease that nobody renews.
        with _server.embedded(args.kueue, "--no-manager", memory=False, data_dir=f"{work}/data") as (kubeconfig, _, _):
            raw = Raw(kubeconfig)
            with manager(args.kueue, kubeconfig, work, "alone") as alone:
                raw.create(JOBS, job("alone", "local", suspend=True))
                wait(lambda: is_true(raw.get(f"{JOBS}/alone"), "Complete"), "the Job", 30, alone, alone.log)
            raw.close()


def flood(args):
    """Thousands of Jobs at once: each is admitted or waits with a reason, and the server answers meanwhile."""
    with _server.embedded(args.kueue, "--nodes=10x100cpu,400Gi") as (kubeconfig, process, log):
        raw = Raw(kubeconfig)
        setup(raw, cpu="500")
        created, slowest, stop = [], [0.0], threading.Event()

        def submit(worker):
            mine = Raw(kubeconfig)
            for n in range(worker, JOBS_AT_ONCE, 4):
                mine.create(JOBS, job(f"flood-{n}", "local", seconds="1h"))
                created.append(n)
            mine.close()

        def ask():
            mine = Raw(kubeconfig)
            while not stop.is_set():
                started = time.monotonic()
                mine.get(f"{CLUSTER_QUEUES}/queue")
                slowest[0] = max(slowest[0], time.monotonic() - started)
                stop.wait(0.1)
            mine.close()
        threads = [threading.Thread(target=submit, args=(n,)) for n in range(4)] + [threading.Thread(target=ask)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads[:4]:
                thread.join(300)
            check(len(created) == JOBS_AT_ONCE, f"{len(created)} Jobs could be created")

            def settled():
                status = raw.get(f"{CLUSTER_QUEUES}/queue").get("status", {})
                return (status.get("admittedWorkloads"), status.get("pendingWorkloads")) == (min(500, JOBS_AT_ONCE), max(0, JOBS_AT_ONCE - 500))
            wait(settled, "the ClusterQueue to count every Job", 120, process, log)
            pending = [w for w in raw.get(WORKLOADS)["items"] if not is_true(w, "QuotaReserved")]
            check(len(pending) == JOBS_AT_ONCE - 500, f"{len(pending)} wait")
            wait(lambda: sum(1 for j in raw.get(JOBS)["items"] if not j["spec"]["suspend"]) == min(500, JOBS_AT_ONCE), "the admitted Jobs to be started", 60)
        finally:
            stop.set()
            threads[4].join()
        check(slowest[0] < 20, f"one request took {slowest[0]:.1f} s meanwhile")
        idle(process, "thousands of waiting Workloads")
        raw.close()


def idle(process, what, seconds=2.0, most=0.2):
    """Sooner or later the process uses next to no CPU: at most `most` of one over `seconds`."""
    before, started = cpu_seconds(process.pid), time.monotonic()

    def calm():
        nonlocal before, started
        passed = time.monotonic() - started
        if passed < seconds:
            return False
        share = (cpu_seconds(process.pid) - before) / passed
        before, started = cpu_seconds(process.pid), time.monotonic()
        return share <= most
    wait(calm, f"the process to use less than {most} CPUs with {what}", 60, process)


def blocked_heads_are_quiet(args):
    """Workloads that cannot be admitted cost nothing: too large ones, a StrictFIFO head, missing queues, stopped queues."""
    with _server.embedded(args.kueue) as (kubeconfig, process, log):
        raw = Raw(kubeconfig)
        setup(raw)
        raw.create(CLUSTER_QUEUES, cluster_queue("strict", strategy="StrictFIFO"))
        raw.create(LOCAL_QUEUES, local_queue("strict", "strict"))
        raw.create(CLUSTER_QUEUES, cluster_queue("held", stopPolicy="Hold"))
        raw.create(LOCAL_QUEUES, local_queue("held", "held"))
        raw.create(CLUSTER_QUEUES, cluster_queue("hollow", flavor_name="absent"))
        raw.create(LOCAL_QUEUES, local_queue("hollow", "hollow"))
        raw.create(JOBS, job("head", "strict", cpu=100))
        wait(lambda: condition(workloads(raw).get("head", {}), "QuotaReserved"), "a decision about the head")
        # Of the same second the uid decides; the head is to be the older one.
        made = workloads(raw)["head"]["metadata"]["creationTimestamp"]
        wait(lambda: raw.send("POST", f"{JOBS}?dryRun=All", job("clock", "strict")).json()["metadata"]["creationTimestamp"] > made, "the next second")
        for n in range(60):
            for queue, cpu in (("local", 100), ("strict", 1), ("held", 1), ("hollow", 1), ("absent", 1)):
                raw.create(JOBS, job(f"{queue}-{n}", queue, cpu=cpu))
        wait(lambda: len(workloads(raw)) == 301, "the Workloads")
        idle(process, "blocked heads")
        version = int(raw.get(WORKLOADS)["metadata"]["resourceVersion"])
        idle(process, "blocked heads", seconds=2)
        written = int(raw.get(WORKLOADS)["metadata"]["resourceVersion"]) - version
        check(written < 10, f"{written} writes in some 2 s while nothing can change")
        past = [n for n, w in workloads(raw).items() if is_true(w, "QuotaReserved")]
        check(not past, f"admitted past their head: {past}")
        check(raw.send("DELETE", f"{JOBS}/head?propagationPolicy=Background").ok, "cannot delete the head")
        wait(lambda: sum(is_true(w, "QuotaReserved") for n, w in workloads(raw).items() if n.startswith("strict-")) >= 4, "those behind the head", 30,
             process, log)
        raw.close()


def parts_deleted_and_made_again(args):
    """Queues, flavors and namespaces go and come back while Jobs run: nothing is admitted twice or left behind."""
    with _server.embedded(args.kueue, "--nodes=4x16cpu,32Gi") as (kubeconfig, process, log):
        raw = Raw(kubeconfig)
        setup(raw)
        for round_ in range(3):
            for n in range(8):
                raw.create(JOBS, job(f"r{round_}-{n}", "local", seconds=0.3))
            wait(lambda: reserved_cpus(raw) > 0, "the first to run")
            # In use: marked, and gone only when its last Workload is.
            for path in (f"{CLUSTER_QUEUES}/queue", f"{FLAVORS}/default-flavor", f"{LOCAL_QUEUES}/local"):
                check(raw.send("DELETE", path).ok, f"cannot delete {path}")
            recreate = {CLUSTER_QUEUES: cluster_queue("queue"), FLAVORS: flavor(), LOCAL_QUEUES: local_queue("local", "queue")}
            for path, body in recreate.items():
                name = body["metadata"]["name"]
                wait(lambda path=path, body=body: raw.send("POST", path, body).status == 201, f"{name} to be gone and made again", 60, process, log)
            check(reserved_cpus(raw) <= 4, "more is reserved than there is")
            wait(lambda: all(is_true(j, "Complete") for j in raw.get(JOBS)["items"]), f"the Jobs of round {round_}", 60, process, log)
        status = wait(lambda: (lambda s: s if s.get("reservingWorkloads", 0) == 0 else None)(raw.get(f"{CLUSTER_QUEUES}/queue")["status"]),
                      "the counts")
        check(all(r.get("total", "0") == "0" for f in status["flavorsReservation"] for r in f["resources"]), f"still reserved: {status}")
        # A namespace with running and waiting Jobs.
        for round_ in range(2):
            raw.create("/api/v1/namespaces", {"metadata": {"name": "team"}})
            raw.create(LOCAL_QUEUES.replace("default", "team"), local_queue("local", "queue", "team"))
            for n in range(8):
                raw.create(JOBS.replace("default", "team"), job(f"t-{n}", "local", seconds="1h"))
            wait(lambda: raw.get(f"{CLUSTER_QUEUES}/queue")["status"].get("admittedWorkloads", 0) == 4, "the namespace's Jobs", 30, process, log)
            check(raw.send("DELETE", "/api/v1/namespaces/team").ok, "cannot delete the namespace")
            wait(lambda: raw.send("GET", "/api/v1/namespaces/team").status == 404, "the namespace to be gone", 60, process, log)
            wait(lambda: raw.get(f"{CLUSTER_QUEUES}/queue")["status"].get("reservingWorkloads", 0) == 0
                 and raw.get(f"{CLUSTER_QUEUES}/queue")["status"].get("pendingWorkloads", 0) == 0, "its quota to be free", 30, process, log)
        raw.close()


def jobs_edited_while_running(args):
    """What may not change is refused with its path; what may is followed; nothing is counted twice."""
    with _server.embedded(args.kueue, "--nodes=4x16cpu,32Gi") as (kubeconfig, process, log):
        raw = Raw(kubeconfig)
        setup(raw)
        raw.create(CLUSTER_QUEUES, cluster_queue("other"))
        raw.create(LOCAL_QUEUES, local_queue("other", "other"))
        raw.create(JOBS, job("runs", "local", parallelism=2, seconds="1h"))
        wait(lambda: not raw.get(f"{JOBS}/runs")["spec"]["suspend"], "the Job to run", 30, process, log)
        answer = raw.send("PATCH", f"{JOBS}/runs", {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "other"}}}, MERGE)
        check(answer.status in (403, 422) and "queue-name" in answer.text, f"{answer.status} {answer.text[:300]}")
        answer = raw.send("PATCH", f"{JOBS}/runs", {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}, MERGE)
        check(answer.status in (403, 422) and "template" in answer.text, f"{answer.status} {answer.text[:300]}")
        answer = raw.send("PATCH", f"{JOBS}/runs", {"spec": {"parallelism": -1}}, MERGE)
        check(answer.status == 422 and "spec.parallelism" in answer.text, f"{answer.status} {answer.text[:300]}")
        # More pods than were admitted: the Job is stopped and asks again.
        for parallelism in (3, 1, 4, 2):
            answer = raw.send("PATCH", f"{JOBS}/runs", {"spec": {"parallelism": parallelism}}, MERGE)
            check(answer.ok or answer.status in (403, 422), f"{answer.status} {answer.text[:300]}")

        def consistent():
            item = raw.get(f"{JOBS}/runs")
            w = workloads(raw).get("runs")
            return w and not item["spec"]["suspend"] and is_true(w, "Admitted") and len(
                [x for x in raw.get(WORKLOADS)["items"] if not is_true(x, "Finished")]) == 1
        wait(consistent, "the Job to run again", 30, process, log)
        check(reserved_cpus(raw) <= 4, "more is reserved than there is")
        # A waiting Job may change its queue, back and forth.
        raw.create(JOBS, job("waits", "local", cpu=4, seconds="0.1"))
        wait(lambda: condition(workloads(raw).get("waits", {}), "QuotaReserved"), "a decision", 30, process, log)
        for queue in ("other", "absent", "local", "other"):
            answer = raw.send("PATCH", f"{JOBS}/waits", {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": queue}}}, MERGE)
            check(answer.ok or answer.status in (403, 409, 422), f"{answer.status} {answer.text[:300]}")
        wait(lambda: is_true(raw.get(f"{JOBS}/waits"), "Complete"), "the Job in its new queue", 30, process, log)
        check(raw.send("DELETE", f"{JOBS}/runs?propagationPolicy=Foreground").ok, "cannot delete")
        wait(lambda: reserved_cpus(raw) == 0, "the quota to be free", 30, process, log)
        raw.close()


class Hook(http.server.BaseHTTPRequestHandler):
    """A webhook that misbehaves as its path says."""
    protocol_version = "HTTP/1.1"
    released = threading.Event()

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kind = self.path.split("?")[0]
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": review["request"]["uid"], "allowed": False,
                                                                                           "status": {"message": "the hook says no", "code": 403}}}
        text = json.dumps(body).encode()
        if kind == "/slow":
            Hook.released.wait(30)
        if kind == "/garbage":
            text = b"\xff garbage"
        if kind == "/other":
            body["response"]["uid"] = "somebody else"
            text = json.dumps(body).encode()
        if kind == "/huge":
            text = b'"' + b"x" * (20 << 20) + b'"'
        if kind == "/hangup":
            self.close_connection = True
            self.connection.close()
            return
        with contextlib.suppress(OSError, ssl.SSLError):
            self.send_response(500 if kind == "/error" else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    def log_message(self, *_):
        pass


def webhooks_that_refuse(args):
    """Registered webhooks that deny, hang, or talk nonsense: the error names them, and all goes on when they are gone."""
    hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    with tempfile.TemporaryDirectory(prefix="kueue-hooks-") as work, \
            _server.embedded(args.kueue) as (kubeconfig, process, log):
        make_certificate(work)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
        server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{work}/tls.crt", f"{work}/tls.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        raw = Raw(kubeconfig)
        setup(raw)
        import base64
        bundle = base64.b64encode(pathlib.Path(f"{work}/tls.crt").read_bytes()).decode()

        def configuration(path, port=None, policy="Fail", resources=("configmaps",), group="", operations=("CREATE", "UPDATE")):
            return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "bad"},
                    "webhooks": [{"name": "bad.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": policy,
                                  "timeoutSeconds": 1, "clientConfig": {"url": f"https://127.0.0.1:{port or server.server_port}{path}", "caBundle": bundle},
                                  "rules": [{"apiGroups": [group], "apiVersions": ["*"], "operations": list(operations), "resources": list(resources)}]}]}
        try:
            cases = [("/deny", None, "the hook says no"), ("/error", None, "failed calling webhook"), ("/garbage", None, "failed calling webhook"),
                     ("/other", None, "failed calling webhook"), ("/huge", None, "failed calling webhook"), ("/hangup", None, "failed calling webhook"),
                     ("/slow", None, "failed calling webhook"), ("/refused", 1, "failed calling webhook")]
            for path, port, words in cases:
                raw.create(hooks, configuration(path, port))
                answer = raw.send("POST", "/api/v1/namespaces/default/configmaps", config_map("hooked"))
                check(400 <= answer.status < 600 and "bad.example.com" in answer.text and words in answer.text, f"{path}: {answer.status} {answer.text[:300]}")
                check(raw.send("DELETE", f"{hooks}/bad").ok, "cannot delete the configuration")
                if path != "/deny":
                    raw.create(hooks, configuration(path, port, policy="Ignore"))
                    answer = raw.send("POST", "/api/v1/namespaces/default/configmaps", config_map(f"ignored-{path[1:]}"))
                    check(answer.ok, f"{path} with Ignore: {answer.status} {answer.text[:300]}")
                    raw.send("DELETE", f"{hooks}/bad")
            # The manager's own writes are refused: it neither spins nor gives up.
            for path in ("/deny", "/slow"):
                name = f"behind{path.replace('/', '-')}"
                raw.create(hooks, configuration(path, resources=("workloads", "workloads/status"), group="kueue.x-k8s.io"))
                raw.create(JOBS, job(name, "local"))
                before, started = cpu_seconds(process.pid), time.monotonic()

                def refused_for_a_while(name=name, started=started):
                    check(not is_true(raw.get(f"{JOBS}/{name}"), "Complete"), "a Job ran whose Workload was refused")
                    return time.monotonic() >= started + 3
                wait(refused_for_a_while, "refusals", 30, process, log)
                share = (cpu_seconds(process.pid) - before) / (time.monotonic() - started)
                check(share < 0.7, f"with refused writes it uses {share:.2f} CPUs")
                check(raw.send("DELETE", f"{hooks}/bad").ok, "cannot delete the configuration")
                wait(lambda name=name: is_true(raw.get(f"{JOBS}/{name}"), "Complete"), "the Job when the webhook is gone", 60, process, log)
        finally:
            Hook.released.set()
            server.shutdown()
            server.server_close()
        raw.close()


NEEDS_OPENSSL = [two_managers, manager_beside_playground, webhooks_that_refuse]
ALONE = [flood, blocked_heads_are_quiet, parts_deleted_and_made_again, jobs_edited_while_running]
