#!/usr/bin/env python3
"""The rules of the tree that a compiler does not check: layering, banned includes and tokens, lengths, lost files.

Each rule prints one line per offence: path:line: what is wrong and what to do. The last line counts rules.
"""

import pathlib
import re
import subprocess
import sys

import mutate

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 90  # STYLE.md asks for about 70; this is where it stops being a matter of taste
MAX_COLUMNS = 120

# Headers that cost seconds per file stay in the few files that need them.
HEAVY = re.compile(r"#include <(boost/(asio|beast|json)|openssl/|sqlite3|yaml\.h|CLI/|iostream|regex|spdlog|gtest|gmock|re2/)")
HEAVY_ALLOWED = {
    "boost/asio": r"^net/.*\.cc$",
    "boost/beast": r"^net/.*\.cc$",
    "boost/json": r"^json/.*\.cc$",
    "openssl/": r"^(net|apiserver|controllers|bridge|base)/.*\.cc$",
    "sqlite3": r"^apiserver/.*\.cc$",
    "yaml.h": r"^json/.*\.cc$",
    "CLI/": r"^cli/.*\.cc$",
    "re2/": r"^(schema|cel|apiserver|webhooks|config)/.*\.cc$",
    "iostream": r"^$",
    "regex": r"^$",
    "spdlog": r"^$",
    "gtest": r"_(test|model_test)\.cc$|test_support\.h$|_testing\.(h|cc)$",
    "gmock": r"_(test|model_test)\.cc$|test_support\.h$|_testing\.(h|cc)$",
}
# The engine is pure.
ENGINE_BANNED = re.compile(
    r"#include <(chrono|thread|mutex|shared_mutex|condition_variable|future|iostream|fstream|filesystem|random|ctime"
    r")>|\b(std::rand|getenv|printf|fprintf)\b|system_clock")


def tracked():
    out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                         capture_output=True, text=True, check=True).stdout
    return [p for p in out.splitlines() if (ROOT / p).is_file()]


def layers():
    """module -> modules it may include, read from the build's own table."""
    text = (ROOT / "cmake" / "modules.cmake").read_text()
    table = {}
    for match in re.finditer(r"^kueue_module\((\w+)([^)]*)\)", text, re.M):
        deps = re.search(r"DEPS ([\w\s]*?)(?:LIBS|TEST_|$)", match.group(2))
        table[match.group(1)] = set(deps.group(1).split()) if deps else set()
    return table


def sources():
    for path in tracked():
        if path.startswith("src/") and path.endswith((".h", ".cc")):
            yield path.removeprefix("src/"), (ROOT / path).read_text(errors="replace").splitlines()


def check_layering():
    table = layers()
    for path, lines in sources():
        module = path.split("/")[0]
        if module not in table:
            yield f"src/{path}:1: module '{module}' is not in cmake/modules.cmake"
            continue
        for number, line in enumerate(lines, 1):
            match = re.match(r'#include "(\w+)/', line)
            if match and match.group(1) != module and match.group(1) not in table[module]:
                yield f"src/{path}:{number}: {module} may not include {match.group(1)} (cmake/modules.cmake)"
            if re.match(r'#include "\.\.?/', line):
                yield f"src/{path}:{number}: include by the path from src/"


def check_no_cycles():
    table = layers()
    for start in table:
        stack, seen = [start], set()
        while stack:
            for dep in table.get(stack.pop(), ()):
                if dep == start:
                    yield f"cmake/modules.cmake:1: {start} depends on itself through {dep}"
                elif dep not in seen:
                    seen.add(dep)
                    stack.append(dep)


def check_heavy_includes():
    for path, lines in sources():
        for number, line in enumerate(lines, 1):
            match = HEAVY.match(line)
            if match and not re.search(HEAVY_ALLOWED[match.group(1)], path):
                yield f"src/{path}:{number}: <{match.group(1)}> does not belong in this file"


def check_engine_purity():
    for path, lines in sources():
        if path.startswith("engine/") and not path.startswith("engine/testing/") and not path.endswith("_test.cc"):
            for number, line in enumerate(lines, 1):
                if ENGINE_BANNED.search(line) and not line.lstrip().startswith("//"):
                    yield f"src/{path}:{number}: the engine has no clock, IO, thread or hash order: {line.strip()}"


def check_engine_hash_order():
    """Hash maps of the engine are for look-ups; a loop over one would put hash order into results."""
    names = set()
    engine = [(p, l) for p, l in sources() if p.startswith("engine/") and not p.endswith("_test.cc")]
    for _, lines in engine:
        for match in re.finditer(r"std::unordered_(?:map|set)<[^;]*?>\s+(\w+)\s*[;={]", "\n".join(lines)):
            names.add(match.group(1))
    shared = {name for name in names for _, lines in engine
              if re.search(r"std::(vector|map|set)<[^;]*>\s+" + name + r"\s*[;={]", "\n".join(lines))}
    for path, lines in engine:
        for number, line in enumerate(lines, 1):
            match = re.search(r"\bfor \(.*:\s*([\w.>()-]*(?:\.|->))?(\w+)\)", line)
            # Other structs have members of the same name; those of the world are told by their prefix.
            owned = match and (match.group(1) in (None, "world.", "world_->") or match.group(2) not in shared)
            if match and match.group(2) in names and owned:
                yield f"src/{path}:{number}: a loop over the hash map {match.group(2)}"


def check_lengths():
    for path, lines in sources():
        if path.startswith("api/gen/"):
            continue
        if len(lines) > MAX_FILE_LINES:
            yield f"src/{path}:1: {len(lines)} lines; split files over {MAX_FILE_LINES}"
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_COLUMNS and "http" not in line and 'R"' not in line and '"' not in line:
                yield f"src/{path}:{number}: {len(line)} columns"
        yield from function_lengths(path, lines)


def function_lengths(path, lines):
    """A function body, as clang-format leaves it: from a line ending in '{' at column 0 to the next lone '}'."""
    if path.endswith("_test.cc"):
        return
    start = None
    for number, line in enumerate(lines, 1):
        if start is None and re.match(r"^[A-Za-z~].*\)( const| noexcept| override|: .*)* \{$", line) \
                and not line.startswith(("namespace", "struct", "class", "enum", "union")):
            start = number
        elif start is not None and line.startswith("}"):
            if number - start > MAX_FUNCTION_LINES:
                yield f"src/{path}:{start}: function of {number - start} lines; split over {MAX_FUNCTION_LINES}"
            start = None


def check_pragma_once():
    for path, lines in sources():
        if path.endswith(".h") and "#pragma once" not in lines:
            yield f"src/{path}:1: no #pragma once"


def check_tests_do_not_sleep():
    for path in tracked():
        if path.endswith(("_test.cc",)) or path.startswith("test/"):
            # wait_until of the suites has the only sleep, between two looks at a condition; the player of recorded sessions
            # lets as much time pass as they did.
            if path == "test/e2e/_server.py" or path.startswith("test/scenarios/player/"):
                continue
            if path.endswith((".cc", ".h", ".py")):
                for number, line in enumerate((ROOT / path).read_text(errors="replace").splitlines(), 1):
                    if re.search(r"sleep_for|sleep_until|usleep\(|\bsleep\(", line):
                        yield f"{path}:{number}: tests wait on a condition, they do not sleep"


def check_no_foreign_traces():
    own = {"tools/tidy.py"}
    for path in tracked():
        if path in own or not path.endswith((".cc", ".h", ".md", ".py", ".txt", ".cmake", ".yaml", ".json")):
            continue
        for number, line in enumerate((ROOT / path).read_text(errors="replace").splitlines(), 1):
            if re.search(r"(^|[\s\"'=(])/(work/\w|root/\w|opt/controlplane)", line):
                yield f"{path}:{number}: a path of one machine"
            if len(line) < 2000 and re.search(r"\b(TODO|FIXME|XXX)\b", line):
                yield f"{path}:{number}: unfinished work is said in README, not in a marker"


def check_documents():
    for name in ("README.md", "ARCHITECTURE.md", "STYLE.md", "HACKING.md", "CHANGELOG.md", "LICENSE", "Containerfile"):
        if not (ROOT / name).is_file():
            yield f"{name}:1: missing"
    architecture = (ROOT / "ARCHITECTURE.md")
    if architecture.is_file():
        text = architecture.read_text()
        for module in layers():
            if (SRC / module).is_dir() and f"`{module}/`" not in text:
                yield f"ARCHITECTURE.md:1: does not mention module `{module}/`"


def check_commands_are_described():
    """What ./dev help lists stands in HACKING.md, and the other way round."""
    listed = set(re.findall(r"^\./dev (\w+)", (ROOT / "dev").read_text(), re.M))
    described = set(re.findall(r"^\| `\./dev (\w+)", (ROOT / "HACKING.md").read_text(), re.M))
    for name in sorted(listed ^ described):
        yield f"{'HACKING.md' if name in listed else 'dev'}:1: ./dev {name} is not described here"


def check_examples_apply_in_order():
    """`kubectl apply -f` of a folder goes by name and knows no generateName."""
    for path in tracked():
        if path.startswith("examples/") and path.endswith(".yaml"):
            if not re.match(r"\d-", pathlib.Path(path).name):
                yield f"{path}:1: begins with no number, by which its folder is applied in order"
            if "generateName" in (ROOT / path).read_text():
                yield f"{path}:1: generateName cannot be applied"


def check_mutations_apply():
    """Planted bugs (./dev mutate) name lines of the engine; who changes such a line changes its mutation."""
    yield from mutate.check()


RULES = [check_layering, check_no_cycles, check_heavy_includes, check_engine_purity, check_engine_hash_order, check_lengths, check_pragma_once,
         check_tests_do_not_sleep, check_no_foreign_traces, check_documents, check_commands_are_described, check_examples_apply_in_order,
         check_mutations_apply]


def main():
    failed = 0
    for rule in RULES:
        offences = list(rule())
        for offence in offences:
            print(f"{offence}  [{rule.__name__.removeprefix('check_')}]")
        failed += bool(offences)
    print(f"{len(RULES) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
