#!/usr/bin/env python3
"""Bad input and faults of every kind: the error names what is wrong, the process lives, nothing is lost.

Usage: bad_input.py --kueue BINARY [--only WORD]
The tests stand in _faults_*.py: documents and requests, connections, folders and files, the life of queues and jobs.
"""

import argparse
import os
import shutil
import sys

sys.dont_write_bytecode = True

import _faults  # noqa: E402
import _faults_cluster  # noqa: E402
import _faults_connections  # noqa: E402
import _faults_folders  # noqa: E402
import _faults_requests  # noqa: E402
import _server  # noqa: E402
import _tally  # noqa: E402


class Tally(_tally.Tally):
    def __init__(self, only):
        super().__init__()
        self.only = only

    def wants(self, test):
        return not self.only or self.only in test.__name__

    def on_one_server(self, args, tests, setup, *flags):
        """Tests that share a server: after each of them it must be the same process, and ready."""
        tests = [t for t in tests if self.wants(t)]
        if not tests:
            return
        with _server.embedded(args.kueue, *flags) as (kubeconfig, process, log):
            os.environ["KUBECONFIG"] = kubeconfig
            raw = _faults.Raw(kubeconfig)
            setup(raw)
            for test in tests:
                self.play(test, raw, [args.kueue])
                raw.close()
                try:
                    raw.alive()
                except Exception as error:
                    raise RuntimeError(f"after {test.__name__}: {error}; the server {process.poll()}: {_server.tail(log)}") from error
            del os.environ["KUBECONFIG"]

    def alone(self, args, tests):
        for test in tests:
            if self.wants(test):
                self.play(test, args)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kueue", required=True)
    parser.add_argument("--only", help="tests whose name has this word")
    args = parser.parse_args()
    args.kueue = os.path.abspath(args.kueue)
    tally = Tally(args.only)
    tally.on_one_server(args, _faults_requests.TESTS, _faults_requests.setup, "--nodes=2x8cpu,32Gi")
    tally.on_one_server(args, _faults_connections.ON_ONE_SERVER, lambda raw: None, "--no-manager", "--nodes=none")
    tally.alone(args, _faults_connections.ALONE)
    tally.alone(args, _faults_cluster.ALONE)
    with_certificates = [_faults_connections.wrong_credentials, *_faults_cluster.NEEDS_OPENSSL]
    if shutil.which("openssl"):
        tally.alone(args, with_certificates)
    else:
        for test in with_certificates:
            tally.skip(test.__name__, "needs the program openssl")
    tally.alone(args, _faults_folders.ALONE)
    if _faults_folders.can_mount():
        tally.alone(args, [_faults_folders.disk_full_by_mount])
    else:
        tally.skip("disk_full_by_mount", "needs root and mount")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
