#!/usr/bin/env python3
"""Writes docs/reference: one page for each kind of kueue.x-k8s.io, from the field tables in the binary.

Usage: reference_docs.py --kueue BINARY [--check]
--check writes nothing and fails when a page is not what the tables say. The last line counts pages.
"""

import argparse
import json
import pathlib
import subprocess
import sys

PAGES = pathlib.Path(__file__).resolve().parent.parent / "docs" / "reference"
VERSION = "v1beta2"
EMBEDDED = ("template",)  # Kubernetes' own types are documented by Kubernetes


def type_text(schema):
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity"
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {type_text(schema['items'])}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"map of {type_text(schema['additionalProperties'])}"
    return schema.get("format") if kind == "string" and schema.get("format") == "date-time" else kind


def rules(schema, required):
    texts = ["required"] if required else []
    if "default" in schema:
        texts.append(f"default `{json.dumps(schema['default'])}`")
    if "enum" in schema:
        texts.append("one of " + ", ".join(f"`{value}`" for value in schema["enum"]))
    for name, words in (("minimum", "at least"), ("maximum", "at most"), ("minLength", "length at least"),
                        ("maxLength", "length at most"), ("minItems", "items at least"),
                        ("maxItems", "items at most"), ("maxProperties", "entries at most")):
        if name in schema:
            texts.append(f"{words} {schema[name]:g}")
    texts += [rule["message"] for rule in schema.get("x-kubernetes-validations", []) if rule.get("message")]
    return "; ".join(texts)


def rows(schema, path, depth=0):
    required = set(schema.get("required", []))
    for name, child in sorted(schema.get("properties", {}).items()):
        here = f"{path}.{name}" if path else name
        text = " ".join(child.get("description", "").split()).replace("|", "\\|")
        yield f"| `{here}` | {type_text(child)} | {rules(child, name in required).replace('|', chr(92) + '|')} | {text} |"
        inner, suffix = child, ""
        while inner.get("type") == "array":
            inner, suffix = inner["items"], suffix + "[]"
        if depth < 12 and name not in EMBEDDED and "properties" in inner:
            yield from rows(inner, here + suffix, depth + 1)


def page(crd):
    names, spec = crd["spec"]["names"], crd["spec"]
    version = next(v for v in spec["versions"] if v["name"] == VERSION)
    schema = version["schema"]["openAPIV3Schema"]
    short = ", ".join(f"`{s}`" for s in names.get("shortNames", []))
    lines = [f"# {names['kind']}", "",
             " ".join(schema.get("description", "").split()), "",
             f"`{spec['group']}/{VERSION}`, {'namespaced' if spec['scope'] == 'Namespaced' else 'cluster scope'}"
             + (f", short names {short}" if short else "")
             + ". Made from the field tables by tools/reference_docs.py.", "",
             "| field | type | rules | meaning |", "|---|---|---|---|"]
    top = {"properties": {k: v for k, v in schema["properties"].items() if k not in ("apiVersion", "kind", "metadata")},
           "required": schema.get("required", [])}
    return "\n".join([*lines, *rows(top, "")]) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kueue", required=True)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    crds = json.loads(subprocess.check_output([args.kueue, "crds", "-o", "json"]))["items"]
    stale = 0
    for crd in crds:
        path, text = PAGES / f"{crd['spec']['names']['singular']}.md", page(crd)
        if args.check:
            if not path.is_file() or path.read_text() != text:
                print(f"{path.name} is not what the tables say; run tools/reference_docs.py")
                stale += 1
        else:
            PAGES.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    print(f"{len(crds) - stale} passed, {stale} failed, 0 skipped")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
