#!/usr/bin/env python3
"""Runs the benchmarks of a release build: every program build/release/bench/bench_* and every script bench/*.py.

Usage: run_benches.py [NAME...] [--json FILE]
Scripts get --kueue BINARY and print a table. Numbers of one run on one machine are only good for ratios.
"""

import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = ROOT / "build" / "release"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json")
    args = parser.parse_args()
    programs = {p.name.removeprefix("bench_"): [str(p)] for p in sorted((RELEASE / "bench").glob("bench_*"))
                if p.is_file() and os.access(p, os.X_OK)}
    for name, command in programs.items():
        if args.json:
            command.append(f"--benchmark_out={args.json}.{name}" if len(programs) > 1 and not args.names
                           else f"--benchmark_out={args.json}")
    for script in sorted((ROOT / "bench").glob("*.py")):
        if not script.name.startswith("_"):
            programs[script.stem] = [sys.executable, str(script), "--kueue", str(RELEASE / "kueue")]
    unknown = set(args.names) - set(programs)
    if unknown or not programs:
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(sorted(programs))}", file=sys.stderr)
        return 2
    failed = 0
    for name, command in programs.items():
        if not args.names or name in args.names:
            print(f"== {name}", flush=True)
            failed += subprocess.run(command, stdin=subprocess.DEVNULL).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
