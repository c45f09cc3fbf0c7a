#!/usr/bin/env python3
"""Runs the client suite (test/contract) against the embedded server, and against a real control plane where one can be had.

Usage: contract.py [--kueue BINARY] [--contract BINARY] [--server embedded|real|all] [gtest arguments...]
A server that cannot be started here is skipped with a line that says so.
"""

import argparse
import os
import pathlib
import subprocess
import sys

import _server

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(contract, kubeconfig, server, arguments):
    """Runs the suite; True when every test passed."""
    print(f"== {server}", flush=True)
    environment = dict(os.environ, KUEUE_CONTRACT_KUBECONFIG=kubeconfig)
    return subprocess.run([contract, "--gtest_brief=1", *arguments], env=environment, stdin=subprocess.DEVNULL).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kueue", default=str(ROOT / "build/dev/kueue"))
    parser.add_argument("--contract", default=str(ROOT / "build/dev/contract"))
    parser.add_argument("--server", choices=("embedded", "real", "all"), default="all")
    options, arguments = parser.parse_known_args()
    good = True
    if options.server in ("embedded", "all"):
        with _server.embedded(options.kueue, "--no-manager", "--stand-ins=none", "--nodes=none") as (kubeconfig, _, _):
            good &= run(options.contract, kubeconfig, "embedded server", arguments)
    if options.server in ("real", "all"):
        with _server.real() as kubeconfig:
            if kubeconfig is None:
                print("== real control plane\nSKIPPED: needs Go or a built control plane", flush=True)
            else:
                good &= run(options.contract, kubeconfig, "real control plane", arguments)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
