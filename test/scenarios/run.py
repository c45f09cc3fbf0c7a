#!/usr/bin/env python3
"""Plays scenario files with our manager and compares everything it shows with what was recorded.

Usage: run.py --kueue BINARY DIR... [--server embedded|real] [--only NAME] [--out DIR] [--times N] [--record]
The server is started here: the embedded one with its stand-ins for controller manager and scheduler, or a real
control plane. Pods are played by the player. The last line is "N passed, N failed".
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "test" / "e2e"))
sys.dont_write_bytecode = True

import _server  # noqa: E402

AUDIT_POLICY = ('{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":'
                '"Metadata","verbs":["get","create","update","patch","delete","deletecollection"]}]}')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kueue", required=True)
    parser.add_argument("--server", choices=["embedded", "real"], default="embedded")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--out")
    parser.add_argument("--times", default="1")
    parser.add_argument("--crds", action="append", default=[], help="folders of further CRDs (job kinds)")
    parser.add_argument("--record", action="store_true", help="write NAME.expected.json to --out instead of comparing")
    parser.add_argument("scenarios", nargs="+")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="kueue-scenarios-") as work:
        work = pathlib.Path(work)
        webhooks, crds = work / "webhooks.yaml", work / "crds"
        crds.mkdir()
        webhooks.write_bytes(subprocess.check_output([args.kueue, "install", "--only", "webhooks"]))
        for name, text in kueue_crds(args.kueue):
            (crds / f"{name}.json").write_text(text)
        if args.server == "embedded":
            server = _server.embedded(args.kueue, "--no-manager", "--stand-ins=scheduler,job-controller", "--nodes=none")
        else:
            (work / "audit.yaml").write_text(AUDIT_POLICY)
            server = _server.real(f"--apiserver-arg=--audit-policy-file={work}/audit.yaml",
                                  f"--apiserver-arg=--audit-log-path={work}/audit.log")
        with server as started:
            if started is None:
                print("SKIPPED: no real control plane here (it is built with Go)")
                print("0 passed, 0 failed, 1 skipped")
                return 0
            kubeconfig = started if isinstance(started, str) else started[0]
            command = [sys.executable, str(HERE / "player" / "play"), "--kubeconfig", kubeconfig,
                       "--manager", f"{args.kueue} manager --metrics-plain-http=true --config={{config}} "
                                    "--kubeconfig={kubeconfig}",
                       "--webhook-manifests", str(webhooks), "--known", str(HERE / "known.json"), "--times", args.times]
            for folder in [str(crds), *args.crds]:
                command += ["--crds", folder]
            for name in args.only:
                command += ["--only", name]
            if args.out:
                command += ["--out", args.out]
            if args.record:
                command.append("--record")
            if args.server == "real":
                command += ["--audit-log", str(work / "audit.log")]
            return _server.run_to_end([*command, *args.scenarios])


def kueue_crds(kueue):
    import json
    listing = json.loads(subprocess.check_output([kueue, "crds", "-o", "json"]))
    for crd in listing["items"]:
        yield crd["metadata"]["name"], json.dumps(crd)


if __name__ == "__main__":
    sys.exit(main())
