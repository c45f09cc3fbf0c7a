#!/usr/bin/env python3
"""The quick start of `./dev run`, as a test: it ends with code 0 only when everything it promises was seen."""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kueue", required=True)
    args = parser.parse_args()
    code = subprocess.run([sys.executable, str(ROOT / "tools" / "quick_start.py"), "--kueue", args.kueue],
                          stdin=subprocess.DEVNULL).returncode
    print(f"{int(code == 0)} passed, {int(code != 0)} failed, 0 skipped")
    return code


if __name__ == "__main__":
    sys.exit(main())
