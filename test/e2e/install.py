#!/usr/bin/env python3
"""Installs what `kueue install` prints on a real control plane and runs the manager with only the rights it gets there.

Usage: install.py [--kueue BINARY]
The manager runs outside, as its service account; Services of type ExternalName lead the API server to it on loopback. So
webhooks, conversion, the visibility API and its own certificates work as on a cluster. Without Go or built binaries of the
control plane the suite is skipped, with a line that says so. The last line counts checks.
"""

import argparse
import base64
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import yaml

import _server

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMESPACE = "kueue-system"
CHECKS = 16
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: shared}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: plain, resources: [{name: cpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: main, namespace: default}
spec: {clusterQueue: shared}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: default, labels: {kueue.x-k8s.io/queue-name: main}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: none, resources: {requests: {cpu: 3}}}]
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    def __init__(self, kubectl, kubeconfig):
        self.kubectl, self.kubeconfig = kubectl, kubeconfig

    def run(self, *arguments, text=None):
        return subprocess.run([self.kubectl, "--kubeconfig", self.kubeconfig, *arguments], input=text or "", text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def do(self, *arguments, text=None):
        done = self.run(*arguments, text=text)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def get(self, *arguments):
        done = self.run("get", *arguments, "-o", "json")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def apply(self, text):
        return self.do("apply", "--server-side", "-f", "-", text=text)


class Replica:
    """One `kueue manager` as the installation's service account."""

    def __init__(self, kueue, work, name, token, admin_kubeconfig, ports):
        self.webhook, self.metrics, self.health, self.visibility = ports
        self.log = pathlib.Path(work) / f"{name}.log"
        admin = yaml.safe_load(pathlib.Path(admin_kubeconfig).read_text())
        admin["users"] = [{"name": "user", "user": {"token": token}}]
        kubeconfig, config = pathlib.Path(work) / f"{name}.kubeconfig", pathlib.Path(work) / f"{name}.yaml"
        kubeconfig.write_text(yaml.safe_dump(admin))
        config.write_text(yaml.safe_dump({
            "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "namespace": NAMESPACE,
            "webhook": {"host": "127.0.0.1", "port": self.webhook},
            "metrics": {"bindAddress": f"127.0.0.1:{self.metrics}"},
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self.health}"},
            "visibilityServer": {"bindAddress": "127.0.0.1", "bindPort": self.visibility},
            "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io", "resourceLock": "leases",
                               "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"}}))
        self.out = open(self.log, "wb")
        environment = {k: v for k, v in os.environ.items() if k != "KUBECONFIG"} | {"HOME": work}
        self.process = subprocess.Popen([kueue, "manager", f"--config={config}", f"--kubeconfig={kubeconfig}",
                                         "--zap-log-level=2"],
                                        stdin=subprocess.DEVNULL, stdout=self.out, stderr=subprocess.STDOUT, env=environment)

    def ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health}/readyz", timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False

    def metrics_status(self, token):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        request = urllib.request.Request(f"https://127.0.0.1:{self.metrics}/metrics")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=10, context=context) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            _server.stop(self.process)
        self.out.close()


def manifests(kueue, webhook, visibility):
    """What `kueue install` prints, with Services that lead to loopback."""
    printed = subprocess.run([kueue, "install", "--no-descriptions"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True)
    objects = [o for o in yaml.load_all(printed.stdout, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if o]
    for object_ in objects:
        if object_["kind"] == "Service" and object_["metadata"]["name"] != "kueue-controller-manager-metrics-service":
            object_["spec"] = {"type": "ExternalName", "externalName": "localhost"}
        if object_["kind"] == "Deployment":
            object_["spec"]["replicas"] = 0  # the manager runs outside
        if object_["kind"] == "APIService":
            object_["spec"]["service"]["port"] = visibility
        clients = [hook["clientConfig"] for hook in object_.get("webhooks", [])]
        if object_["kind"] == "CustomResourceDefinition" and "conversion" in object_["spec"]:
            clients.append(object_["spec"]["conversion"]["webhook"]["clientConfig"])
        for client in clients:
            client["service"]["port"] = webhook
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    part = [o for o in objects if not o["kind"].endswith("WebhookConfiguration")]
    hooks = [o for o in objects if o["kind"].endswith("WebhookConfiguration")]
    return (yaml.dump_all(part, Dumper=dumper), yaml.dump_all(hooks, Dumper=dumper))


def conditions(object_):
    return {c["type"]: c["status"] for c in (object_ or {}).get("status", {}).get("conditions", [])}


class Suite:
    def __init__(self, kueue, cluster, work, ports):
        self.kueue, self.cluster, self.work, self.ports = kueue, cluster, work, ports
        self.passed = self.failed = 0

    def check(self, what, condition, timeout_s=60):
        log = self.first.log if hasattr(self, "first") else None
        try:
            _server.wait_until(condition, what, timeout_s, log=log)
            self.passed += 1
            print(f"ok   {what}", flush=True)
        except RuntimeError as error:
            self.failed += 1
            print(f"FAILED {what}: {error}", flush=True)

    def bundles(self):
        secret = self.cluster.get("secret", "-n", NAMESPACE, "kueue-webhook-server-cert") or {}
        wanted = secret.get("data", {}).get("ca.crt")
        if not wanted:
            return None
        found = set()
        for kind in ("mutating", "validating"):
            hooks = self.cluster.get(f"{kind}webhookconfigurations", f"kueue-{kind}-webhook-configuration")["webhooks"]
            found |= {hook["clientConfig"].get("caBundle") for hook in hooks}
        crd = self.cluster.get("crd", "workloads.kueue.x-k8s.io")
        found.add(crd["spec"]["conversion"]["webhook"]["clientConfig"].get("caBundle"))
        for version in ("v1beta1", "v1beta2"):
            found.add(self.cluster.get("apiservice", f"{version}.visibility.kueue.x-k8s.io")["spec"].get("caBundle"))
        return base64.b64decode(wanted) if found == {wanted} else None

    def admitted(self, job):
        workloads = self.cluster.get("workloads.v1beta1.kueue.x-k8s.io", "-n", "default") or {"items": []}
        for workload in workloads["items"]:
            if workload["metadata"]["ownerReferences"][0]["name"] == job:
                return conditions(workload).get("Admitted") == "True"
        return False

    def pending(self, version, *flags):
        done = self.cluster.run("get", "--raw", f"/apis/visibility.kueue.x-k8s.io/{version}/clusterqueues/shared/pendingworkloads",
                                *flags)
        if done.returncode != 0:
            return done.stderr
        return [item["metadata"]["ownerReferences"][0]["name"] for item in json.loads(done.stdout)["items"]]

    def leader(self):
        lease = self.cluster.get("lease", "-n", NAMESPACE, "c1f6bfd2.kueue.x-k8s.io") or {"spec": {}}
        return lease["spec"].get("holderIdentity")

    def replica(self, name, ports, stack):
        token = self.cluster.do("create", "token", "kueue-controller-manager", "-n", NAMESPACE).strip()
        made = Replica(self.kueue, self.work, name, token, self.cluster.kubeconfig, ports)
        stack.callback(made.stop)
        return made

    def run(self, stack):
        webhook, metrics, health, visibility = self.ports
        base, hooks = manifests(self.kueue, webhook, visibility)
        self.cluster.apply(base)
        self.cluster.apply(base)  # again: nothing conflicts
        self.first = self.replica("first", self.ports, stack)
        self.check("the manager becomes ready", self.first.ready)
        self.cluster.apply(hooks)
        self.check("its authority is in webhooks, CRDs and APIServices", self.bundles)
        self.cluster.apply(hooks)  # a later apply takes nothing away
        self.check("a later apply leaves the authority in place", self.bundles)
        self.check_lint()
        self.check("queues of both versions are accepted", lambda: self.cluster.run(
            "apply", "--server-side", "-f", "-", text=QUEUES).returncode == 0)
        # One after the other: of jobs of the same second the smaller uid goes first.
        self.cluster.do("create", "-f", "-", text=JOB.replace("NAME", "one"))
        self.check("a job is admitted; v1beta1 shows it", lambda: self.admitted("one"))
        self.cluster.do("create", "-f", "-", text=JOB.replace("NAME", "two"))
        self.check("the visibility API is available", lambda: conditions(
            self.cluster.get("apiservice", "v1beta2.visibility.kueue.x-k8s.io")).get("Available") == "True")
        self.check("it lists what waits", lambda: self.pending("v1beta2") == self.pending("v1beta1") == ["two"])
        self.check("it refuses strangers", lambda: "cannot get resource" in self.pending("v1beta2", "--as=stranger"))
        self.check_metrics()
        self.check_rotation()
        self.check_fail_over(stack)
        complaints = [line for line in self.first.log.read_text(errors="replace").splitlines()
                      if re.search(r"forbidden|cannot \w+ resource", line)]
        self.check("no right was missing", lambda: not complaints, timeout_s=0)
        print("\n".join(complaints[:10]))

    def lint(self):
        """Rules that `kueue lint` finds broken in the installation, errors only."""
        done = subprocess.run([self.kueue, "lint", "-o", "json", "--fail-on=never", "--kubeconfig", self.cluster.kubeconfig],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
        return {(f["rule"], f["object"]) for f in json.loads(done.stdout)["findings"] if f["severity"] == "error"}

    def check_lint(self):
        self.check("lint finds nothing wrong with it", lambda: not self.lint())
        other = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n").decode()
        self.cluster.apply(json.dumps({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "old-kueue"},
            "webhooks": [{"name": "old.kb.io", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": {
                "caBundle": other, "service": {"namespace": NAMESPACE, "name": "old-service"}}}]}))  # without rules: never called
        self.check("lint finds a webhook that trusts another authority and calls nobody", lambda: self.lint() == {
            (rule, "ValidatingWebhookConfiguration/old-kueue") for rule in ("wrong-authority", "missing-service")}, timeout_s=5)
        self.cluster.do("delete", "validatingwebhookconfiguration", "old-kueue")

    def check_metrics(self):
        self.cluster.apply("""
apiVersion: v1
kind: ServiceAccount
metadata: {name: scraper, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: scraper}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kueue-metrics-reader}
subjects: [{kind: ServiceAccount, name: scraper, namespace: default}]
""")
        scraper = self.cluster.do("create", "token", "scraper", "-n", "default").strip()
        stranger = self.cluster.do("create", "token", "default", "-n", "default").strip()
        self.check("metrics are for who may read them", lambda: (
            self.first.metrics_status(scraper)[0], self.first.metrics_status(stranger)[0],
            self.first.metrics_status("")[0]) == (200, 403, 401))

    def check_rotation(self):
        before = self.bundles()
        self.cluster.do("delete", "secret", "-n", NAMESPACE, "kueue-webhook-server-cert")
        self.check("lost certificates are made anew, everywhere", lambda: (self.bundles() or before) != before)
        self.check("webhooks answer with the new ones", lambda: self.cluster.run(
            "annotate", "--overwrite", "clusterqueue", "shared", "seen=after").returncode == 0)

    def check_fail_over(self, stack):
        second = self.replica("second", free_ports(4), stack)
        self.check("a second replica becomes ready", second.ready)
        held = self.leader()
        self.first.process.kill()
        self.first.process.wait()
        self.check("it leads when the first is killed", lambda: self.leader() not in (held, None, ""), timeout_s=20)
        self.cluster.run("patch", "job", "one", "-n", "default", "--subresource=status", "--type=merge", "-p", "{}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kueue", default=str(ROOT / "build/dev/kueue"))
    options = parser.parse_args()
    kubectl = _server.CACHE / "controlplane" / "kubectl"
    # Services of type ExternalName are resolved without the aggregator's own routing only.
    with contextlib.ExitStack() as stack:
        kubeconfig = stack.enter_context(_server.real("--no-scheduler", "--apiserver-arg=--enable-aggregator-routing=false"))
        if kubeconfig is None:
            print("SKIPPED: a real control plane needs Go or built binaries", flush=True)
            print(f"0 passed, 0 failed, {CHECKS} skipped")
            return 0
        work = stack.enter_context(tempfile.TemporaryDirectory(prefix="kueue-install-"))
        suite = Suite(str(pathlib.Path(options.kueue).resolve()), Cluster(str(kubectl), kubeconfig), work, free_ports(4))
        try:
            suite.run(stack)
        except AssertionError as error:
            suite.failed += 1
            print(f"FAILED {error}")
            if hasattr(suite, "first"):
                print(_server.tail(suite.first.log))
    print(f"{suite.passed} passed, {suite.failed} failed, 0 skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
