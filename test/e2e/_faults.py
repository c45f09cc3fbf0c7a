"""What the tests of bad input share: a client that sends bytes as given, checks of errors, names of paths, processes."""

import http.client
import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "scenarios" / "player"))

import _server  # noqa: E402
from _tally import check  # noqa: E402
from kube import Kubeconfig  # noqa: E402

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
FLAVORS, CLUSTER_QUEUES, COHORTS = f"{KUEUE}/resourceflavors", f"{KUEUE}/clusterqueues", f"{KUEUE}/cohorts"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
LOCAL_QUEUES = f"{KUEUE}/namespaces/default/localqueues"
JSON, YAML = "application/json", "application/yaml"
MERGE, STRATEGIC, JSON_PATCH, APPLY = ("application/merge-patch+json", "application/strategic-merge-patch+json",
                                       "application/json-patch+json", "application/apply-patch+yaml")


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def ok(self):
        return self.status < 300

    @property
    def text(self):
        return self.body.decode(errors="replace")

    def json(self):
        return json.loads(self.body)


class Raw:
    """One kept connection; a body may be bytes (sent as they are) or a document."""

    def __init__(self, kubeconfig, timeout_s=60):
        self.config = Kubeconfig(kubeconfig)
        host, _, port = self.config.server.removeprefix("https://").rpartition(":")
        self.address, self.timeout_s = (host.strip("[]"), int(port)), timeout_s
        self.context = self.config.tls()
        self.connection = None

    def tls(self, context=None, timeout_s=20):
        """A TLS connection for bytes."""
        plain = socket.create_connection(self.address, timeout_s)
        return (context or self.context).wrap_socket(plain, server_hostname=self.address[0])

    def plain(self, timeout_s=20):
        return socket.create_connection(self.address, timeout_s)

    def send(self, method, path, body=None, content_type=JSON, headers=None):
        for last in ((False, True) if method == "GET" else (True,)):
            if self.connection is None:
                self.connection = http.client.HTTPSConnection(*self.address, context=self.context,
                                                              timeout=self.timeout_s)
            try:
                return self._send(method, path, body, content_type, headers or {})
            except (http.client.HTTPException, OSError):
                self.close()
                if last:
                    raise

    def _send(self, method, path, body, content_type, headers):
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        sent = {"User-Agent": "bad-input", "Accept": JSON} | self.config.headers() | headers
        if body is not None:
            sent["Content-Type"] = content_type
        self.connection.request(method, path, body=body, headers=sent)
        answer = self.connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def get(self, path):
        answer = self.send("GET", path)
        if not answer.ok:
            raise AssertionError(f"GET {path}: {answer.status} {answer.text[:500]}")
        return answer.json()

    def create(self, path, body):
        """Creates, or says why that failed."""
        answer = self.send("POST", path, body)
        if not answer.ok:
            raise AssertionError(f"POST {path}: {answer.status} {answer.text[:800]}")
        return answer.json()

    def alive(self):
        answer = self.send("GET", "/readyz")
        check(answer.status == 200, f"/readyz says {answer.status} {answer.text[:200]}")


def refused(answer, status, *words, reason=None):
    """A Kubernetes Status of this code, whose message has all the words (without regard to case)."""
    check(answer.status == status, f"wanted {status}, got {answer.status}: {answer.text[:800]}")
    document = answer.json()
    check(document.get("kind") == "Status" and document.get("status") == "Failure" and document.get("code") == status,
          f"not a Status with its code: {answer.text[:500]}")
    if reason:
        check(document.get("reason") == reason, f"reason is {document.get('reason')}, not {reason}: {answer.text[:500]}")
    text = json.dumps(document, ensure_ascii=False).lower()
    for word in words:
        check(json.dumps(word, ensure_ascii=False)[1:-1].lower() in text, f"no {word!r} in {answer.text[:1500]}")
    return document


def fails(command, code, *words, timeout_s=60, env=None, stdin=None, **more):
    """The command ends by itself with this exit code, and its stderr has all the words."""
    done = run(command, timeout_s, env, stdin, **more)
    text = done.stderr.decode(errors="replace")
    check(done.returncode == code, f"{shown(command)}: exit code {done.returncode}, not {code}: {text[-1500:]}")
    for word in words:
        check(word.lower() in text.lower(), f"{shown(command)}: no {word!r} in {text[-1500:]!r}")
    return text


def run(command, timeout_s=60, env=None, stdin=None, **more):
    try:
        return subprocess.run([str(c) for c in command], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=timeout_s, env=environment(env),
                              **({} if stdin is not None else {"stdin": subprocess.DEVNULL}), **more)
    except subprocess.TimeoutExpired as expired:
        raise AssertionError(f"{shown(command)}: still running after {timeout_s} s: "
                             f"{(expired.stderr or b'').decode(errors='replace')[-1500:]}") from None


def shown(command):
    return " ".join(str(c) for c in list(command)[1:6])[:200]


def environment(more=None):
    return {k: v for k, v in os.environ.items() if k != "KUBERNETES_SERVICE_HOST"} | (more or {})


def config_map(name, **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}} | more


def flavor(name="default-flavor"):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name}}


def cluster_queue(name, cpu="4", strategy="BestEffortFIFO", flavor_name="default-flavor", **spec):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": name}, "spec": {
        "namespaceSelector": {}, "queueingStrategy": strategy,
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
            {"name": flavor_name, "resources": [{"name": "cpu", "nominalQuota": cpu}]}]}]} | spec}


def local_queue(name, cluster_queue_name, namespace="default"):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": namespace}, "spec": {"clusterQueue": cluster_queue_name}}


def job(name, queue, cpu="1", parallelism=1, seconds="0.1", suspend=False):
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
            "spec": {"parallelism": parallelism, "completions": parallelism, "suspend": suspend,
                     "template": {"spec": {"restartPolicy": "Never", "containers": [
                         {"name": "main", "image": "busybox", "command": ["sleep", str(seconds)],
                          "resources": {"requests": {"cpu": str(cpu)}}}]}}}}


def condition(item, kind):
    return next((c for c in item.get("status", {}).get("conditions", []) if c["type"] == kind), {})


def is_true(item, kind):
    return condition(item, kind).get("status") == "True"


def wait(truth, what, timeout_s=30, process=None, log=None):
    return _server.wait_until(truth, what, timeout_s, process, log)


def cpu_seconds(pid):
    """User and system time that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def insecure():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
