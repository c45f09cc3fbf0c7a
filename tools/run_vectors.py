#!/usr/bin/env python3
"""The suite `vectors`: judges the recordings of the folder `shared` beside the checkout (or at KUEUE_SHARED).

Fails when a vector that test/vectors/passing.txt lists no longer passes. Where the folder is absent nothing is run, and
a line says so.
"""

import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vectors", default=str(ROOT / "build" / "dev" / "vectors"))
    args = parser.parse_args()
    folder = pathlib.Path(os.environ.get("KUEUE_SHARED") or ROOT.parent / "shared") / "vectors"
    if not folder.is_dir():
        print(f"SKIPPED: no vectors at {folder}")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    return subprocess.run([args.vectors, str(folder), "--differences", "test/vectors/differences.json",
                           "--no-counterpart", "test/vectors/no_counterpart.json",
                           "--passing", "test/vectors/passing.txt"], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
