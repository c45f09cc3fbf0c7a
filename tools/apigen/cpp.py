"""Writes C++ structs (headers) and their bindings (.cc)."""
import re
import textwrap

import names
from tables import HEADER, quote

SCALARS = {"string": "std::string", "bytes": "std::string", "bool": "bool", "int32": "int32_t", "int64": "int64_t",
           "double": "double", "quantity": "Quantity", "intorstring": "IntOrString", "any": "json::Value",
           "time": "std::optional<Instant>", "microtime": "std::optional<Instant>",
           "duration": "std::optional<Duration>"}
SIZES = {"string": 32, "bytes": 32, "bool": 1, "int32": 4, "int64": 8, "double": 8, "quantity": 24,
         "intorstring": 40, "any": 40, "time": 16, "microtime": 16, "duration": 16}
ALWAYS_PLAIN = {"string", "bytes", "any", "time", "microtime", "duration"}
BOX_ABOVE_BYTES = 64  # larger optional structs live on the heap


def snake(name):
    for plural in ("IPs", "URLs", "CIDRs", "IDs", "WWNs", "PIDs"):
        name = re.sub(plural + r"(?![a-z])", plural[0] + plural[1:].lower(), name)
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    name = name.replace("-", "_").lower()
    return name + "_" if name in names.KEYWORDS else name


class Module:
    """One header and namespace: the C++ structs of a group and version."""

    def __init__(self, namespace, header, includes, comment, declared=None):
        self.namespace = namespace
        self.header = header          # "core_v1"
        self.includes = includes
        self.comment = comment
        self.structs = {}             # C++ name -> Struct, in order of definition
        self.roots = {}               # C++ name -> ResourceInfo identifier


class Cpp:
    def __init__(self, modules):
        self.modules = {m.namespace: m for m in modules}
        self.sizes = {}

    def add(self, s):
        """Takes a struct and all that it holds, inner ones first."""
        namespace, name = s.cpp
        module = self.modules[namespace]
        if name in module.structs:
            known = {f.name for f in module.structs[name].fields}
            if {f.name for f in s.fields} - known and not s.full_name.startswith("io.k8s"):
                raise SystemExit(f"{s.cpp}: two different structs of one name")
            return
        for f in s.fields:
            n = f.node
            while n.element:
                n = n.element
            if n.struct:
                self.add(n.struct)
        module.structs[name] = s

    def is_root_field(self, s, f):
        return f.name in ("apiVersion", "kind") and s.cpp[1] in self.modules[s.cpp[0]].roots

    def plain(self, s, f):
        """True when the member is no optional although the field may be absent."""
        if f.required or f.node.kind in ALWAYS_PLAIN or f.node.kind in ("list", "map"):
            return True
        if s.cpp[1] in self.modules[s.cpp[0]].roots or s.cpp in names.PLAIN_STRUCTS:
            return f.name in ("metadata", "spec", "status") and f.node.kind == "struct"
        return False

    def type_of(self, n, here):
        if n.kind == "list":
            return f"std::vector<{self.type_of(n.element, here)}>"
        if n.kind == "map":
            return f"schema::Map<{self.type_of(n.element, here)}>"
        if n.kind == "struct":
            namespace, name = n.struct.cpp
            return name if namespace == here else f"{namespace}::{name}"
        return SCALARS[n.kind]

    def member_type(self, s, f):
        t = self.type_of(f.node, s.cpp[0])
        if (*s.cpp, f.name) in names.SHARED_FIELDS:
            return f"Shared<{t}>"
        if self.plain(s, f):
            return t
        boxed = f.node.kind == "struct" and self.size(f.node.struct) > BOX_ABOVE_BYTES
        return f"Boxed<{t}>" if boxed else f"std::optional<{t}>"

    def size(self, s):
        """Roughly sizeof."""
        if s.cpp not in self.sizes:
            total = 0
            for f in s.fields:
                if self.is_root_field(s, f):
                    continue
                n = f.node
                one = {"list": 24, "map": 48}.get(n.kind) or (SIZES.get(n.kind) if n.kind != "struct" else
                                                              self.size(n.struct))
                if not self.plain(s, f):
                    one = 8 if n.kind == "struct" and one > BOX_ABOVE_BYTES else one + 8
                total += (one + 3) // 4 * 4
            self.sizes[s.cpp] = (total + 7) // 8 * 8
        return self.sizes[s.cpp]

    def header(self, m):
        out = [HEADER + m.comment, "#pragma once", "", "#include <cstdint>", "#include <optional>", "#include <string>",
               "#include <vector>", ""]
        out += sorted(f'#include "{i}"' for i in m.includes + [
            "api/int_or_string.h", "api/quantity.h", "base/boxed.h", "base/time.h", "json/value.h", "schema/bind.h"])
        out += ["", f"namespace kueue::api::{m.namespace} {{", ""]
        for name, s in m.structs.items():
            out += self.struct(m, name, s)
        out += [f"}}  // namespace kueue::api::{m.namespace}", "", "namespace kueue::schema {", ""]
        for name in m.structs:
            t = f"api::{m.namespace}::{name}"
            out += ["template <>", f"const StructBinding& binding_of<{t}>();", "template <>",
                    f"const Type& type_of<{t}>();"]
        return "\n".join(out + ["", "}  // namespace kueue::schema", ""])

    def struct(self, m, name, s):
        out = [f"// {line}" for line in textwrap.wrap(s.doc, 96)]
        out.append(f"struct {name} {{")
        if name in m.roots:
            out.append("  static const schema::ResourceInfo& resource();")
        for f in s.fields:
            if self.is_root_field(s, f):
                continue
            t = self.member_type(s, f)
            initial = {"bool": " = false", "int32_t": " = 0", "int64_t": " = 0", "double": " = 0"}.get(t, "")
            out.append(f"  {t} {snake(f.name)}{initial};")
        out += [f"  bool operator==(const {name}&) const = default;", "};", ""]
        return out

    def bindings(self, m, chunk):
        out = [HEADER + f'#include "api/gen/{m.header}.h"', "", "#include <cstddef>", "",
               '#include "api/gen/resources.h"', '#include "api/gen/tables.h"', "",
               '#pragma GCC diagnostic ignored "-Winvalid-offsetof"', ""]
        roots = [n for n, _ in chunk if n in m.roots]
        if roots:
            out += [f"namespace kueue::api::{m.namespace} {{", ""]
            out += [f"const schema::ResourceInfo& {n}::resource() {{ return gen::{m.roots[n]}; }}" for n in roots]
            out += ["", f"}}  // namespace kueue::api::{m.namespace}", ""]
        out += ["namespace kueue::schema {", ""]
        for name, s in chunk:
            out += self.binding(m, name, s)
        return "\n".join(out + ["}  // namespace kueue::schema", ""])

    def binding(self, m, name, s):
        t = f"api::{m.namespace}::{name}"
        fields = []
        for f in sorted(s.fields, key=lambda f: f.name):
            if self.is_root_field(s, f):
                continue
            member = snake(f.name)
            value = "&kMicroTimeBinding" if f.node.kind == "microtime" else f"&value_binding<decltype(T::{member})>"
            keep = f.required or (name in m.roots and f.name in ("metadata", "spec"))
            fields.append(f"      {{{quote(f.name)}, offsetof(T, {member}), {'false' if keep else 'true'}, {value}}},")
        out = ["template <>", f"const Type& type_of<{t}>() {{", f"  return api::gen::k{s.ident};", "}", "template <>",
               f"const StructBinding& binding_of<{t}>() {{"]
        span = ""
        if fields:
            out += [f"  using T = {t};", "  static constexpr FieldBinding kFields[] = {"] + fields + ["  };"]
            span = ".fields = kFields, "
        resource = f", .resource = &{t}::resource" if name in m.roots else ""
        out += [f"  static constexpr StructBinding kBinding{{.name = {quote(name)}, {span}"
                f".type = &type_of<{t}>{resource}}};", "  return kBinding;", "}", ""]
        return out
