#!/usr/bin/env python3
"""Plays a session of kubectl commands on the embedded server and on a real control plane and compares text and exit code.

Usage: kubectl_session.py --kueue BINARY [--show] [--only N[-M]] [--embedded-only]
Commands: kubectl/session.txt. Differences that are meant: kubectl/differences.json (pattern of command -> reason).
Without Go there is no kubectl v1.36 and no real control plane: one loud line, and the session counts as skipped.
"""

import argparse
import difflib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FILES = HERE / "kubectl"
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import _server  # noqa: E402

COMMAND_TIMEOUT_S = 60
WAIT_S = 30

REPLACED = [  # what may differ between any two runs
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uid>"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r"\b\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
    (r'("?resourceVersion"?: )"\d+"', r'\1"<rv>"'),
    (r"https://(127\.0\.0\.1|localhost):\d+", "<server>"),
    (r"\b(quick|web-[0-9a-f]+|web)-[a-z0-9]{5}\b", r"\1-<random>"),
    (r"\bweb-[0-9a-f]{8,10}\b", "web-<hash>"),
    (r"(?m)(?<=\s)(\d+[smhd])+(\d+[smh])?(?=\s*$|\s{2,})", "<age>"),
    (r"<unknown>", "<age>"),
    (r"[ \t]+", " "),   # column widths follow the lengths of ages and names
    (r"(?m) $", ""),
    (r"/tmp/[\w.-]+/", "<tmp>/"),
    (r"kubectl-edit-\d+", "kubectl-edit-<random>"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}", "<time>"),
    (r"Resource Version: \d+", "Resource Version: <rv>"),
]


def normalise(text):
    for pattern, replacement in REPLACED:
        text = re.sub(pattern, replacement, text)
    return text


def load_session():
    for number, line in enumerate((FILES / "session.txt").read_text().splitlines(), 1):
        line = line.strip()
        if line and not line.startswith("#"):
            yield number, line


def split(line):
    """Like a shell, except that JSON arguments need no quoting: an argument that starts with { or [ runs to the end."""
    match = re.search(r" (-p|-o) ?([\[{].*)$", line)
    if match and not line.endswith("'"):
        return shlex.split(line[:match.start()]) + [match.group(1), match.group(2)]
    return [a for a in shlex.split(line, posix="'" in line)]


class Player:
    def __init__(self, kubectl, kubeconfig):
        self.kubectl, self.kubeconfig = kubectl, kubeconfig
        self.home = tempfile.TemporaryDirectory(prefix="kubectl-home-")
        editor = pathlib.Path(self.home.name) / "editor"
        editor.write_text("#!/bin/sh\nsed -i 's/size: [0-9]*/size: 99/' \"$1\"\n")
        editor.chmod(0o755)
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.home.name, "KUBECONFIG": kubeconfig,
                            "KUBE_EDITOR": str(editor), "TERM": "dumb", "COLUMNS": "200"}

    def run(self, words):
        if words[0] != "kubectl":
            raise RuntimeError(f"not a kubectl command: {words}")
        try:
            done = subprocess.run([self.kubectl, *words[1:]], cwd=FILES, env=self.environment, timeout=COMMAND_TIMEOUT_S,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            return done.returncode, done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as expired:
            return -1, (expired.stdout or b"").decode(errors="replace") + f"\n(no answer within {COMMAND_TIMEOUT_S} s)"

    def play(self, line):
        """(exit code, text) of one line of the session."""
        if line.startswith("wait-until "):
            command, wanted = line.removeprefix("wait-until ").split(";;")
            last = ""

            def reached():
                nonlocal last
                code, last = self.run(split(command.strip()))
                return code == 0 and (wanted.strip() in last if wanted.strip() else last.strip() == "")
            try:
                _server.wait_until(reached, command, WAIT_S)
            except RuntimeError:
                return 1, "not reached: " + last
            return 0, "reached\n"
        return self.run(split(line.removeprefix("!")))


def judge(line, ours, theirs, known):
    """None when all is well, else what is wrong."""
    code, text = ours
    if theirs is None:
        failed = code != 0
        return None if failed == line.startswith("!") else f"exit code {code}\n{text}"
    if (code != 0) == (theirs[0] != 0) and code == theirs[0] and normalise(text) == normalise(theirs[1]):
        return None
    for entry in known:
        if re.search(entry["command"], line):
            entry["seen"] = True
            return None
    diff = "\n".join(difflib.unified_diff(normalise(theirs[1]).splitlines(), normalise(text).splitlines(), "real", "ours",
                                          lineterm="", n=1))
    return f"exit code: real {theirs[0]}, ours {code}\n{diff}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kueue", required=True)
    parser.add_argument("--show", action="store_true", help="print every command with what our server answers")
    parser.add_argument("--embedded-only", action="store_true")
    parser.add_argument("--record", help="keep what the real control plane answered in this file, or take it from there")
    args = parser.parse_args()

    binaries = _server.control_plane_binaries()
    if binaries is None:
        print("SKIPPED: no kubectl v1.36 here (it is built with Go), so the kubectl session was not played")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    session = list(load_session())
    known = json.loads((FILES / "differences.json").read_text())
    theirs = {}
    if args.record and pathlib.Path(args.record).exists():
        theirs = {int(n): tuple(answer) for n, answer in json.loads(pathlib.Path(args.record).read_text()).items()}
    elif not args.embedded_only:
        with _server.real() as kubeconfig:
            crds = subprocess.check_output([args.kueue, "crds", "-o", "json"])
            player = Player(str(binaries / "kubectl"), kubeconfig)
            subprocess.run([player.kubectl, "apply", "--server-side", "-f", "-"], input=crds, check=True,
                           env=player.environment, stdout=subprocess.DEVNULL)
            for number, line in session:
                theirs[number] = player.play(line)
        if args.record:
            pathlib.Path(args.record).write_text(json.dumps(theirs))
    passed = failed = 0
    with _server.embedded(args.kueue, "--no-manager", "--nodes=none", "--stand-ins=scheduler,job-controller") as (
            kubeconfig, _, _):
        player = Player(str(binaries / "kubectl"), kubeconfig)
        for number, line in session:
            ours = player.play(line)
            if args.show:
                print(f"$ {line}\n{ours[1]}", end="")
            wrong = judge(line, ours, theirs.get(number), known)
            passed, failed = passed + (wrong is None), failed + (wrong is not None)
            if wrong is not None:
                print(f"session.txt:{number}: {line}\n" + "\n".join("    " + l for l in wrong.splitlines()[:60]), flush=True)
    for entry in known:
        if theirs and not entry.get("seen"):
            print(f"difference not seen any more: {entry['command']}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
