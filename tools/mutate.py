#!/usr/bin/env python3
"""Plants one bug after the other and says whether the tests see it: bugs of the engine (test/mutations/*.mutation) by the
tests of the engine, those of controllers and bridge (test/mutations/sim/*.mutation) by the simulation.

Usage: mutate.py [--check] [--sim] [--seeds N] [NAME...]
A mutation is a file: a comment that says which rule it breaks, `file: PATH`, the line as it is after `- `, the line
that takes its place after `+ `; of the simulation also `plays: --topology`, what it is played with. The line must stand in the file exactly once; blanks at its ends do not matter.
Only the mutated file is compiled, on a copy; the checkout is not touched. --check only looks whether every mutation
still applies. The last line is "N passed, N failed": passed = caught.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "test" / "mutations"
SIM_FOLDER = FOLDER / "sim"
TEST_TIMEOUT_S = 300
SIM_TIMEOUT_S = 3600
SIM_STEPS = 200


class Mutation:
    def __init__(self, path):
        self.name, self.rule, self.file, self.old, self.new = path.stem, "", None, None, None
        self.plays = []
        for line in path.read_text().splitlines():
            if line.startswith("# "):
                self.rule += (" " if self.rule else "") + line[2:]
            elif line.startswith("file: "):
                self.file = line[6:].strip()
            elif line.startswith("plays: "):
                self.plays = line[7:].split()
            elif line.startswith("- "):
                self.old = line[2:].strip()
            elif line.startswith("+"):
                self.new = line[1:].strip()

    def apply(self):
        """The mutated text, or an error."""
        if not self.rule or None in (self.file, self.old, self.new):
            return None, "needs a comment, file:, - and +"
        path = ROOT / self.file
        if not path.is_file():
            return None, f"{self.file} does not exist"
        lines = path.read_text().splitlines(keepends=True)
        at = [i for i, line in enumerate(lines) if line.strip() == self.old]
        if len(at) != 1:
            return None, f"its line stands {len(at)} times in {self.file}"
        lines[at[0]] = self.new + "\n"
        return "".join(lines), None


def mutations(folder, names=()):
    return [Mutation(p) for p in sorted(folder.glob("*.mutation")) if not names or p.stem in names]


def check():
    """One line per mutation that no longer applies."""
    return [f"{folder.relative_to(ROOT)}/{m.name}.mutation: {error}" for folder in (FOLDER, SIM_FOLDER)
            for m in mutations(folder) if (error := m.apply()[1])]


def commands(build, program):
    """Compile command per source file, and the link command of a program."""
    compile_commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
        compile_commands[path] = shlex.split(entry["command"])
    text = subprocess.run(["ninja", "-C", str(build), "-t", "commands", program], check=True,
                          capture_output=True, text=True).stdout.splitlines()
    link = next(line for line in reversed(text) if f"-o {program} " in line)
    parts = [shlex.split(part) for part in link.split("&&")]
    return compile_commands, next(p for p in parts if program in p and "-o" in p)


def plant(mutation, build, compile_commands, link, program, scratch):
    """The mutated program, or an error."""
    text, error = mutation.apply()
    if error:
        return None, error
    source = scratch / pathlib.Path(mutation.file).name
    source.write_text(text)
    compile_command = list(compile_commands[mutation.file])
    compile_command[compile_command.index("-c") + 1] = str(source)
    compile_command[compile_command.index("-o") + 1] = str(scratch / "mutated.o")
    # A variable that the bug left unused is no reason to refuse it.
    done = subprocess.run(compile_command + ["-Wno-error", "-O0", "-g0"], cwd=build, capture_output=True, text=True)
    if done.returncode != 0:
        return None, "does not compile:\n" + done.stderr
    link_command = list(link)
    link_command[link_command.index("-o") + 1] = str(scratch / program)
    module = mutation.file.split("/")[1]
    library = next(i for i, part in enumerate(link_command) if part.endswith(f"libkueue_{module}.a"))
    link_command.insert(library, str(scratch / "mutated.o"))
    subprocess.run(link_command, cwd=build, check=True, capture_output=True)
    return scratch / program, None


def seen_by_engine_tests(program, scratch):
    environment = dict(os.environ, TMPDIR=str(scratch), TEST_TMPDIR=str(scratch))
    # The golden cases take half a second and see most; the others only when they do not.
    for tests in ("*Golden*", "-*Golden*"):
        try:
            done = subprocess.run([str(program), "--gtest_fail_fast", "--gtest_filter=" + tests],
                                  cwd=scratch, capture_output=True, text=True, timeout=TEST_TIMEOUT_S, env=environment)
        except subprocess.TimeoutExpired:
            return True, "ran into the timeout"
        if done.returncode != 0:
            output = (done.stdout + done.stderr).splitlines()
            failed = [line for line in output if "FAILED  ]" in line or "CHECK" in line]
            return True, re.sub(r", where GetParam.*|\[  FAILED  \] ", "", (failed or ["ended"])[0].strip())
    return False, "no test sees it"


def simulate(program, plays, first, seeds):
    """(seed, step, what) of the first seed that fails, or None."""
    command = [str(program), "--first-seed", str(first), "--seeds", str(seeds), "--steps", str(SIM_STEPS),
               *plays, "--shrink", "0", "--failures", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SIM_TIMEOUT_S)
    found = re.findall(r"^FAILED seed (\d+) at step (\d+): (.*)$", done.stdout, re.M)
    return found[0] if found else None


def seen_by_simulation(program, healthy, plays, seeds):
    first = 1
    try:
        while first <= seeds and (found := simulate(program, plays, first, seeds + 1 - first)):
            # What fails without the bug too does not show it.
            if simulate(healthy, plays, int(found[0]), 1) is None:
                return True, "seed {} at step {}: {}".format(*found)
            first = int(found[0]) + 1
    except subprocess.TimeoutExpired:
        return False, "no seed found it in time"
    return False, f"{seeds} seeds do not see it"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sim", action="store_true", help="bugs of controllers and bridge")
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--preset", help="whose build is mutated (dev; of the simulation release)")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if args.check:
        errors = check()
        total = sum(len(mutations(folder)) for folder in (FOLDER, SIM_FOLDER))
        print("\n".join(errors + [f"{total - len(errors)} passed, {len(errors)} failed"]))
        return 1 if errors else 0
    # Thousands of seeds want an optimised program; of the mutated file it does not matter.
    build = ROOT / "build" / (args.preset or ("release" if args.sim else "dev"))
    program = "sim" if args.sim else "test_engine"
    compile_commands, link = commands(build, program)
    passed = failed = 0
    for mutation in mutations(SIM_FOLDER if args.sim else FOLDER, args.names):
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            mutated, why = plant(mutation, build, compile_commands, link, program, scratch)
            ok = False
            if mutated:
                if args.sim:
                    ok, why = seen_by_simulation(mutated, build / program, mutation.plays, args.seeds)
                else:
                    ok, why = seen_by_engine_tests(mutated, scratch)
        passed, failed = passed + ok, failed + (not ok)
        print(f"{'caught' if ok else 'MISSED'} {mutation.name}: {why}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
