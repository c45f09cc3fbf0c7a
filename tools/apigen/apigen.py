#!/usr/bin/env python3
"""Generates src/api/gen from schemas kept as data.

  tools/apigen/apigen.py --schemas DIR [--out src/api/gen] [--check]

DIR holds kubernetes-*/ (OpenAPI of the built-in packages, discovery.json, protobuf-fields.json) and kueue/ (the CRDs).
config.yaml, docs.yaml and defaults.yaml beside this file add the kinds without a schema, the documentation and the
defaults of built-in kinds. The build does not need DIR: the output is committed.
"""
import argparse
import glob
import json
import os
import sys

import yaml

import names
from cpp import Cpp, Module
from model import Crd, Field, Node, OpenApi, Struct
from resources import resource_infos, resources_files
from tables import TableFile, index_file, tables_header

HERE = os.path.dirname(os.path.abspath(__file__))
FIELDS_PER_FILE = 420
STRUCTS_PER_BINDING_FILE = 45


def load_yaml(name):
    path = os.path.join(HERE, name)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        return yaml.safe_load(f) or {}


def load_kubernetes(folder):
    schemas = {}
    for path in sorted(glob.glob(os.path.join(folder, "io.*.json"))):
        with open(path, encoding="utf-8") as f:
            schemas.update(json.load(f)["schemas"])
    read = lambda name: json.load(open(os.path.join(folder, name), encoding="utf-8"))
    return schemas, read("protobuf-fields.json"), read("discovery.json")


def load_crds(folder):
    return [json.load(open(p, encoding="utf-8")) for p in sorted(glob.glob(os.path.join(folder, "*.json")))]


def hand_written(api, text):
    """Reads config.yaml: module -> struct -> field -> "type! =default enum(a|b)"."""
    structs = {}
    for namespace, module in text.items():
        for name in module["structs"]:
            s = Struct(f"{module['prefix']}.{name}", (namespace, name))
            s.ident = module["ident"] + name
            structs[(namespace, name)] = s
    for namespace, module in text.items():
        for name, fields in module["structs"].items():
            s = structs[(namespace, name)]
            for key, spec in (fields or {}).items():
                s.fields.append(hand_written_field(api, structs, namespace, key, spec))
    return structs


def hand_written_field(api, structs, namespace, key, spec):
    words = spec.split(" ")
    kind, required = words[0].rstrip("!"), words[0].endswith("!")

    def node(t):
        if t.startswith("[]"):
            return Node("list", node(t[2:]))
        if t.startswith("{}"):
            return Node("map", node(t[2:]))
        if t[0].islower() and "." not in t:
            return Node(t)
        if t.startswith("meta."):
            return Node("struct", struct=api.struct(names.META + t[5:]))
        return Node("struct", struct=structs[(namespace, t)])

    f = Field(key, node(kind), required)
    for word in words[1:]:
        if word.startswith("="):
            f.default = word[1:]
        elif word.startswith("enum("):
            f.node.enum = [json.dumps(v) for v in word[5:-1].split("|")]
    return f


def apply_overlays(structs, docs, defaults):
    """docs: "core.PodSpec" -> {"": text, field: text}; for our kinds "kueue.WorkloadSpec" serves both versions."""
    used = set()
    for s in structs:
        group = "kueue" if s.cpp[0].startswith("v1beta") else s.cpp[0].split("_")[0]
        key = f"{group}.{s.cpp[1]}"
        entry = docs.get(key, {})
        used.add(key)
        s.doc = entry.get("", "")
        for f in s.fields:
            f.doc = entry.get(f.name, docs.get("*", {}).get(f.name, ""))
        if s.full_name.startswith("io.k8s."):
            for name, value in defaults.get(key, {}).items():
                if s.field(name) is None:
                    raise SystemExit(f"defaults.yaml: {key} has no field {name}")
                s.field(name).default = json.dumps(value, separators=(",", ":"))
    for key in set(docs) - used - {"*"}:
        raise SystemExit(f"docs.yaml: there is no struct {key}")
    fields = {(("kueue" if s.cpp[0].startswith("v1beta") else s.cpp[0].split("_")[0]) + "." + s.cpp[1], f.name)
              for s in structs for f in s.fields}
    for key, entry in docs.items():
        for name in entry:
            if key != "*" and name and (key, name) not in fields:
                raise SystemExit(f"docs.yaml: {key} has no field {name}")


def modules():
    gen = "api/gen/"
    return [
        Module("meta", "meta_v1", [], "// meta/v1: what all objects share."),
        Module("core", "core_v1", [gen + "meta_v1.h"], "// core/v1: Pods, Nodes and what belongs to them."),
        Module("batch", "batch_v1", [gen + "core_v1.h"], "// batch/v1: Jobs."),
        Module("node", "node_v1", [gen + "core_v1.h"], "// node.k8s.io/v1."),
        Module("scheduling", "scheduling_v1", [gen + "meta_v1.h"], "// scheduling.k8s.io/v1."),
        Module("coordination", "coordination_v1", [gen + "meta_v1.h"], "// coordination.k8s.io/v1."),
        Module("events", "events_v1", [gen + "core_v1.h"], "// events.k8s.io/v1."),
        Module("v1beta2", "kueue_v1beta2", [gen + "core_v1.h"], "// kueue.x-k8s.io/v1beta2: our own kinds."),
        Module("config", "config_v1beta2", [gen + "meta_v1.h"],
               "// config.kueue.x-k8s.io/v1beta2: the manager's configuration file."),
        Module("visibility", "visibility_v1beta2", [gen + "meta_v1.h"],
               "// visibility.kueue.x-k8s.io/v1beta2: pending workloads in order."),
    ]


def reachable(roots):
    seen, order = set(), []

    def visit(s):
        if s.ident in seen:
            return
        seen.add(s.ident)
        order.append(s)
        for f in s.fields:
            n = f.node
            while n.element:
                n = n.element
            if n.struct:
                visit(n.struct)
        for _, inner in s.proto_inlines:
            visit(inner)
    for s in roots:
        visit(s)
    return order


def table_files(structs):
    groups = {}
    for s in structs:
        prefix = "kueue" if s.ident.startswith("Kueue") else s.cpp[0].split("_")[0]
        groups.setdefault(prefix if prefix in ("kueue", "core", "meta", "batch", "config") else "other", []).append(s)
    files = {}
    for group, members in groups.items():
        part, current = 1, TableFile()
        for s in sorted(members, key=lambda s: s.ident):
            if current.fields and current.fields + len(s.fields) > FIELDS_PER_FILE:
                files[f"tables_{group}_{part}.cc"] = current.text()
                part, current = part + 1, TableFile()
            current.struct(s)
        files[f"tables_{group}_{part}.cc"] = current.text()
    return files


def generate(schemas_dir):
    kubernetes = sorted(glob.glob(os.path.join(schemas_dir, "kubernetes-*")))[-1]
    schemas, protobuf, discovery = load_kubernetes(kubernetes)
    api = OpenApi(schemas, protobuf)
    crds = load_crds(os.path.join(schemas_dir, "kueue"))
    pool, kueue_roots = {}, {}
    for crd in crds:
        kind = crd["spec"]["names"]["kind"]
        for version in crd["spec"]["versions"]:
            reader = Crd(version["name"], names.KUEUE[kind], api, pool)
            kueue_roots[(version["name"], kind)] = reader.root(kind, version["schema"]["openAPIV3Schema"])
    config = load_yaml("config.yaml")
    hand = hand_written(api, config)
    infos = resource_infos(api, discovery, crds, kueue_roots, hand, config)
    roots = [i["struct"] for i in infos] + [api.struct(n) for n in names.EXTRA_TABLES + names.CPP_ROOTS]
    structs = reachable(roots + list(hand.values()))
    apply_overlays(structs, load_yaml("docs.yaml"), load_yaml("defaults.yaml"))

    cpp = Cpp(modules())
    for info in infos:
        namespace = info["struct"].cpp[0]
        if namespace in cpp.modules:
            cpp.modules[namespace].roots[info["struct"].cpp[1]] = info["ident"]
    for name in names.CPP_ROOTS:
        cpp.add(api.struct(name))
    for (version, _), s in kueue_roots.items():
        if version == "v1beta2":
            cpp.add(s)
    for (namespace, _), s in hand.items():
        if namespace in cpp.modules:
            cpp.add(s)
    files = {"tables.h": tables_header(structs), "tables_index.cc": index_file(structs)}
    files.update(table_files(structs))
    files.update(resources_files(infos))
    for m in cpp.modules.values():
        m.roots = {k: v for k, v in m.roots.items() if k in m.structs}
        files[m.header + ".h"] = cpp.header(m)
        items = list(m.structs.items())
        for part, start in enumerate(range(0, len(items), STRUCTS_PER_BINDING_FILE), 1):
            files[f"bind_{m.header}_{part}.cc"] = cpp.bindings(m, items[start:start + STRUCTS_PER_BINDING_FILE])
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--schemas", required=True)
    parser.add_argument("--out", default=os.path.join(HERE, "..", "..", "src", "api", "gen"))
    parser.add_argument("--check", action="store_true", help="only say whether the output is up to date")
    args = parser.parse_args()
    files = generate(args.schemas)
    stale = []
    os.makedirs(args.out, exist_ok=True)
    for name in sorted(set(os.listdir(args.out)) - set(files)):
        stale.append(name)
        if not args.check:
            os.remove(os.path.join(args.out, name))
    for name, text in files.items():
        path = os.path.join(args.out, name)
        old = open(path, encoding="utf-8").read() if os.path.exists(path) else None
        if old != text:
            stale.append(name)
            if not args.check:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
    print(f"{len(files)} files, {len(stale)} changed" + (": " + ", ".join(stale[:10]) if stale else ""))
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
