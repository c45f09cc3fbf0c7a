#!/usr/bin/env python3
"""Renders the Helm chart with several sets of values and looks at what comes out.

Usage: helm_chart.py [--kueue BINARY]
helm is built from its Go module once, or taken from PATH; without both the suite is skipped, and says so.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys

import yaml

import _server
from _tally import Tally

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "charts" / "kueue"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def find_helm():
    """helm's path; None where there is none and it cannot be built."""
    if shutil.which("helm"):
        return shutil.which("helm")
    folder = _server.CACHE / "helm"
    if not (folder / ".stamp").exists() and shutil.which("go") is None:
        return None
    done = subprocess.run(["bash", str(ROOT / "test" / "helm" / "build"), str(folder)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print("SKIPPED: helm cannot be built here:\n" + done.stdout.decode(errors="replace")[-2000:])
        return None
    return str(folder / "helm")


class Chart:
    def __init__(self, helm):
        self.helm = helm

    def run(self, *values, release="kueue", namespace="kueue-system"):
        command = [self.helm, "template", release, str(CHART), "--namespace", namespace, "--kube-version", "1.36.0"]
        for value in values:
            command += ["--set", value]
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def render(self, *values, **where):
        """Objects by (kind, name)."""
        done = self.run(*values, **where)
        assert done.returncode == 0, done.stderr
        objects = [o for o in yaml.load_all(done.stdout, LOADER) if o]
        found = {(o["kind"], o["metadata"]["name"]): o for o in objects}
        assert len(found) == len(objects), "two objects of one kind and name"
        return found


def pod_of(objects, name="kueue"):
    return objects["Deployment", f"{name}-controller-manager"]["spec"]["template"]["spec"]


def configuration_of(objects, name="kueue"):
    data = objects["ConfigMap", f"{name}-manager-config"]["data"]
    return yaml.load(data["controller_manager_config.yaml"], LOADER)


def defaults_are_the_manifests(chart, kueue):
    """Under the name kueue the chart makes the objects that `kueue install` prints, but for what values choose."""
    objects = chart.render()
    printed = subprocess.run([kueue, "install"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True).stdout
    wanted = {(o["kind"], o["metadata"]["name"]): o for o in yaml.load_all(printed, LOADER) if o}
    left_out = {("Namespace", "kueue-system"), ("PodDisruptionBudget", "kueue-controller-manager"),
                ("FlowSchema", "kueue-visibility"), ("PriorityLevelConfiguration", "kueue-visibility")}
    assert set(objects) == set(wanted) - left_out, set(objects) ^ (set(wanted) - left_out)
    for key, object_ in wanted.items():
        if key[0] in ("CustomResourceDefinition", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding", "APIService",
                      "ValidatingWebhookConfiguration"):
            assert objects[key] == object_, key
    own, chart_pod = pod_of(wanted), pod_of(objects)
    assert own["containers"][0]["ports"] == chart_pod["containers"][0]["ports"]
    assert own["containers"][0]["args"] == chart_pod["containers"][0]["args"]
    chart_config = configuration_of(objects)
    del chart_config["internalCertManagement"]
    assert configuration_of(wanted) == chart_config


def names_follow_the_release(chart, kueue):
    objects = chart.render("fullnameOverride=q", namespace="queues")
    text = chart.run("fullnameOverride=q", namespace="queues").stdout
    assert "kueue-system" not in text.replace("kueue-system\", ", ""), "the namespace is written down somewhere"
    bindings = [o for (kind, _), o in objects.items() if kind.endswith("RoleBinding")]
    for binding in bindings:
        assert binding["subjects"][0]["name"] == "q-controller-manager", binding
        role = binding["roleRef"]
        assert (role["kind"], role["name"]) in objects or role["name"].startswith("extension-"), binding
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for hook in objects[kind, "q-" + ("mutating" if kind[0] == "M" else "validating") + "-webhook-configuration"]["webhooks"]:
            service = hook["clientConfig"]["service"]
            assert ("Service", service["name"]) in objects and service["namespace"] == "queues", hook
    config = configuration_of(objects, "q")["internalCertManagement"]
    assert config == {"enable": True, "webhookServiceName": "q-webhook-service", "webhookSecretName": "q-webhook-server-cert"}
    assert ("Secret", "q-webhook-server-cert") in objects


def other_releases_get_both_names(chart, kueue):
    assert ("Deployment", "batch-kueue-controller-manager") in chart.render(release="batch")


def values_reach_the_pod(chart, kueue):
    objects = chart.render("controllerManager.replicas=2", "controllerManager.featureGates[0].name=PriorityBoost",
                           "controllerManager.featureGates[0].enabled=true", "controllerManager.featureGates[1].name=X",
                           "controllerManager.featureGates[1].enabled=false", "controllerManager.manager.image.tag=v9",
                           "controllerManager.nodeSelector.pool=infra", "controllerManager.podDisruptionBudget.enabled=true",
                           "controllerManager.manager.priorityClassName=system-cluster-critical",
                           "controllerManager.imagePullSecrets[0].name=pull", "enableVisibilityAPF=true",
                           "controllerManager.tolerations[0].operator=Exists", "mutatingWebhook.reinvocationPolicy=IfNeeded",
                           "webhookService.ipDualStack.enabled=true", "metricsService.labels.team=batch",
                           "controllerManager.manager.podAnnotations.note=yes")
    pod = pod_of(objects)
    container = pod["containers"][0]
    assert "--feature-gates=PriorityBoost=true,X=false" in container["args"], container["args"]
    assert container["image"] == "kueue-cpp:v9"
    assert pod["nodeSelector"] == {"pool": "infra"} and pod["tolerations"] == [{"operator": "Exists"}]
    assert pod["priorityClassName"] == "system-cluster-critical" and pod["imagePullSecrets"] == [{"name": "pull"}]
    assert objects["Deployment", "kueue-controller-manager"]["spec"]["replicas"] == 2
    assert objects["PodDisruptionBudget", "kueue-controller-manager"]["spec"]["minAvailable"] == 1
    assert ("FlowSchema", "kueue-visibility") in objects
    assert objects["Service", "kueue-webhook-service"]["spec"]["ipFamilyPolicy"] == "PreferDualStack"
    assert objects["Service", "kueue-controller-manager-metrics-service"]["metadata"]["labels"]["team"] == "batch"
    for hook in objects["MutatingWebhookConfiguration", "kueue-mutating-webhook-configuration"]["webhooks"]:
        assert hook["reinvocationPolicy"] == "IfNeeded"


def certificates_of_cert_manager(chart, kueue):
    objects = chart.render("enableCertManager=true", "enablePrometheus=true")
    assert configuration_of(objects)["internalCertManagement"] == {"enable": False}
    assert ("Secret", "kueue-webhook-server-cert") not in objects
    certificate = objects["Certificate", "kueue-serving-cert"]["spec"]
    assert certificate["secretName"] == "kueue-webhook-server-cert"
    assert "kueue-webhook-service.kueue-system.svc" in certificate["dnsNames"]
    for kind in ("APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for object_ in (o for (k, _), o in objects.items() if k == kind):
            assert object_["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] == "kueue-system/kueue-serving-cert"
    assert {"name": "cert", "secret": {"secretName": "kueue-webhook-server-cert"}} in pod_of(objects)["volumes"]
    assert ("ServiceMonitor", "kueue-controller-manager-metrics-monitor") in objects


def mistakes_are_told(chart, kueue):
    for value, words in (("enableKueueViz=true", "has no dashboard"),
                         ("managerConfig.controllerManagerConfigYaml=a: b: c", "is no YAML")):
        done = chart.run(value)
        assert done.returncode != 0 and words in done.stderr, (value, done.stderr)


CASES = [defaults_are_the_manifests, names_follow_the_release, other_releases_get_both_names, values_reach_the_pod,
         certificates_of_cert_manager, mistakes_are_told]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kueue", default=str(ROOT / "build/dev/kueue"))
    options = parser.parse_args()
    helm = find_helm()
    if helm is None:
        print(f"SKIPPED: helm is neither installed nor can it be built without Go: {len(CASES)} cases")
        print(f"0 passed, 0 failed, {len(CASES)} skipped")
        return 0
    tally = Tally()
    for case in CASES:
        tally.play(case, Chart(helm), options.kueue)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
