#!/usr/bin/env python3
"""The committed pages of docs/reference are what the field tables say."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

sys.exit(subprocess.run([sys.executable, str(ROOT / "tools" / "reference_docs.py"), *sys.argv[1:], "--check"],
                        stdin=subprocess.DEVNULL).returncode)
