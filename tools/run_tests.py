#!/usr/bin/env python3
"""Runs the tests: one program per module (GoogleTest), tidy, vectors, the simulation, and the suites under test/e2e.

Usage: run_tests.py [--jobs N] [--preset PRESET] [NAME...]
NAME picks modules (json, engine, ...) or suites (tidy, e2e names). Without names everything runs.
The last line is "N passed, N failed, N skipped".
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIT_TIMEOUT_S = 600
SUITE_TIMEOUT_S = 2400
PARALLEL_SUITES = ("tidy", "vectors", "sim", "sim_topology")
SIM_SEEDS = ("--seeds", "14", "--steps", "200", "--shrink", "40")  # about a minute of one processor
SIM_TOPOLOGY_SEEDS = ("--topology", "--seeds", "6", "--steps", "200", "--shrink", "40")


class Outcome:
    def __init__(self, name, passed=0, failed=0, skipped=0, output="", seconds=0.0):
        self.name, self.passed, self.failed, self.skipped = name, passed, failed, skipped
        self.output, self.seconds = output, seconds


def run(command, timeout_s, env=None):
    started = time.monotonic()
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=timeout_s, env=env)
        code, text = done.returncode, done.stdout.decode("utf-8", "replace")
    except subprocess.TimeoutExpired as expired:
        code, text = -1, (expired.stdout or b"").decode("utf-8", "replace") + f"\ntimed out after {timeout_s} s\n"
    return code, text, time.monotonic() - started


def count(pattern, text):
    found = re.findall(pattern, text, re.M)
    return int(found[-1]) if found else 0


def run_unit(name, binary):
    code, text, seconds = run([str(binary), "--gtest_color=no"], UNIT_TIMEOUT_S)
    passed = count(r"^\[  PASSED  \] (\d+) tests?\.", text)
    skipped = count(r"^\[  SKIPPED \] (\d+) tests?, listed below", text)
    failed = count(r"^\[  FAILED  \] (\d+) tests?, listed below", text)
    if code != 0 and failed == 0:
        failed = 1
        text += f"\n{name}: ended with code {code}\n"
    return Outcome(name, passed, failed, skipped, text, seconds)


def run_suite(name, command):
    code, text, seconds = run(command, SUITE_TIMEOUT_S)
    last = re.findall(r"^(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", text, re.M)
    passed, failed, skipped = (int(x or 0) for x in last[-1]) if last else (0, 0, 0)
    if code != 0 and failed == 0:
        failed = 1
        text += f"\n{name}: ended with code {code}\n"
    if code == 0 and not last:
        passed = 1
    return Outcome(name, passed, failed, skipped, text, seconds)


def suites(binary_dir):
    """Name -> command of everything that is no GoogleTest program."""
    found = {"tidy": [sys.executable, "tools/tidy.py"],
             "vectors": [sys.executable, "tools/run_vectors.py", "--vectors", str(binary_dir / "vectors")],
             "sim": [str(binary_dir / "sim"), "--scripts", "test/sim", *SIM_SEEDS],
             "sim_topology": [str(binary_dir / "sim"), *SIM_TOPOLOGY_SEEDS]}
    for path in sorted((ROOT / "test" / "e2e").glob("*.py")):
        if not path.name.startswith("_"):
            found[path.stem] = [sys.executable, str(path), "--kueue", str(binary_dir / "kueue")]
    return found


def report(outcome):
    state = "FAILED" if outcome.failed else "ok"
    extra = f", {outcome.skipped} skipped" if outcome.skipped else ""
    print(f"{outcome.name:24} {state:6} {outcome.passed} passed, {outcome.failed} failed{extra}"
          f"  ({outcome.seconds:.1f} s)", flush=True)
    if outcome.failed:
        lines = outcome.output.splitlines()
        interesting = [l for l in lines if not re.match(r"^\[(       OK| RUN      |----------)", l)]
        print("\n".join("    " + l for l in interesting[-150:]), flush=True)
    for line in outcome.output.splitlines():
        if "SKIPPED:" in line:
            print("    " + line.strip(), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--preset", default="dev")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()

    binary_dir = ROOT / "build" / args.preset
    everything = suites(binary_dir)
    wanted = set(args.names)
    modules = {path.relative_to(ROOT / top).parts[0] for top in ("src", "test") for path in (ROOT / top).rglob("*_test.cc")}
    unknown = wanted - modules - set(everything)
    if unknown:
        print(f"no such test: {', '.join(sorted(unknown))}\nmodules: {', '.join(sorted(modules))}\n"
              f"suites: {', '.join(sorted(everything))}")
        return 2
    targets = ["kueue_tests", "kueue", "sim"] if not wanted else [f"test_{n}" for n in args.names if n not in everything]
    targets += ["vectors"] * ("vectors" in wanted) + ["sim"] * bool({"sim", "sim_topology"} & wanted)
    if wanted & set(everything) - set(PARALLEL_SUITES):
        targets.append("kueue")
    if targets:
        started = time.monotonic()
        built = subprocess.run(["./dev", "build", args.preset, *targets], cwd=ROOT, stdin=subprocess.DEVNULL)
        if built.returncode != 0:
            print("the build failed")
            print("0 passed, 1 failed, 0 skipped")
            return 1
        print(f"built in {time.monotonic() - started:.0f} s", flush=True)

    units = {p.name.removeprefix("test_"): p for p in sorted(binary_dir.glob("test_*"))
             if p.is_file() and os.access(p, os.X_OK)}

    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = [pool.submit(run_unit, n, p) for n, p in units.items() if not wanted or n in wanted]
        for name in PARALLEL_SUITES:
            if not wanted or name in wanted:
                futures.append(pool.submit(run_suite, name, everything[name]))
        for future in concurrent.futures.as_completed(futures):
            outcomes.append(future.result())
            report(outcomes[-1])
    for name, command in everything.items():  # these start servers: one after the other
        if name not in PARALLEL_SUITES and (not wanted or name in wanted):
            outcomes.append(run_suite(name, command))
            report(outcomes[-1])

    passed, failed, skipped = (sum(getattr(o, f) for o in outcomes) for f in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
