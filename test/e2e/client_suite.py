#!/usr/bin/env python3
"""Runs the client suite (test/contract) over HTTPS: against `kueue up`, and against a real control plane where one can be had.

Usage: client_suite.py [--kueue BINARY] [--server embedded|real|all] [gtest arguments...]
A server that cannot be started here is skipped with a line that says so. The last line counts tests.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

import _server

ROOT = pathlib.Path(__file__).resolve().parents[2]


def program(kueue):
    """The suite's binary, beside the binary under test; built when it is not there yet."""
    path = pathlib.Path(kueue).resolve().parent / "test_contract"
    if not path.exists():
        subprocess.run([str(ROOT / "dev"), "build", path.parent.name, path.name], check=True, stdin=subprocess.DEVNULL)
    return str(path)


def run(suite, kubeconfig, server, arguments):
    """Runs the suite against one server; (passed, failed)."""
    print(f"== {server}", flush=True)
    environment = dict(os.environ, KUEUE_CONTRACT_KUBECONFIG=kubeconfig)
    done = subprocess.run([suite, "--gtest_brief=1", *arguments], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode(errors="replace")
    print(text, flush=True)
    counts = {word: int(n) for word, n in re.findall(r"\[  (PASSED|FAILED)  \] (\d+) tests?", text)}
    failed = counts.get("FAILED", 0) or (1 if done.returncode != 0 else 0)
    return counts.get("PASSED", 0), failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kueue", default=str(ROOT / "build/dev/kueue"))
    parser.add_argument("--server", choices=("embedded", "real", "all"), default="all")
    options, arguments = parser.parse_known_args()
    suite = program(options.kueue)
    passed = failed = skipped = 0
    if options.server in ("embedded", "all"):
        with _server.embedded(options.kueue, "--no-manager", "--stand-ins=none", "--nodes=none") as (kubeconfig, _, _):
            good, bad = run(suite, kubeconfig, "kueue up", arguments)
            passed, failed = passed + good, failed + bad
    if options.server in ("real", "all"):
        with _server.real() as kubeconfig:
            if kubeconfig is None:
                print("SKIPPED: a real control plane needs Go or built binaries", flush=True)
                skipped += 1
            else:
                good, bad = run(suite, kubeconfig, "real control plane", arguments)
                passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or passed + skipped == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
