#!/usr/bin/env python3
"""Runs every fuzzer of the fuzz preset for a while each, starting from its corpus under test/corpus.

Usage: run_fuzzers.py [SECONDS] [NAME...]
New inputs go to build/fuzz/corpus/NAME; a crash leaves its input in build/fuzz/crashes and fails the run.
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARIES = ROOT / "build" / "fuzz"


def main():
    arguments = sys.argv[1:]
    seconds = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else 30
    fuzzers = [p for p in sorted(BINARIES.glob("*_fuzz")) if os.access(p, os.X_OK)]
    fuzzers = [p for p in fuzzers if not arguments or p.name in arguments or p.name.removesuffix("_fuzz") in arguments]
    if not fuzzers:
        print("no such fuzzer", file=sys.stderr)
        return 2
    passed = failed = 0
    for fuzzer in fuzzers:
        name = fuzzer.name.removesuffix("_fuzz")
        found, crashes = BINARIES / "corpus" / name, BINARIES / "crashes"
        found.mkdir(parents=True, exist_ok=True)
        crashes.mkdir(exist_ok=True)
        seeds = ROOT / "test" / "corpus" / name
        command = [str(fuzzer), str(found), *([str(seeds)] if seeds.is_dir() else []), f"-max_total_time={seconds}",
                   "-timeout=10", "-rss_limit_mb=2048", f"-artifact_prefix={crashes}/{name}-", "-print_final_stats=1",
                   "-verbosity=0"]
        print(f"{name}: {seconds} s", flush=True)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text = done.stdout.decode(errors="replace")
        passed, failed = passed + (done.returncode == 0), failed + (done.returncode != 0)
        print("\n".join("    " + l for l in text.splitlines()[-(40 if done.returncode else 3):]), flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
