"""The model that apigen works on: structs, fields and nodes, and how schemas become one.

Two readers fill it: openapi() for built-in kinds (named schemas that refer to each other) and Crd for CRDs
(anonymous nested schemas, named by names.py). Nodes are immutable by convention once read.
"""
import copy
import json

SCALARS = {"any", "bool", "int32", "int64", "double", "string", "bytes", "intorstring", "quantity", "time",
           "microtime", "duration"}
QUANTITY_PATTERN = (r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+"
                    r"(\.[0-9]*)?)|(\.[0-9]+))))?$")


class Node:
    """A type at one place: scalar, list, map or a reference to a Struct."""

    def __init__(self, kind, element=None, struct=None):
        self.kind = kind              # a scalar, "list", "map" or "struct"
        self.element = element
        self.struct = struct
        self.list_type = None         # None, "atomic", "set", "map"
        self.list_keys = []
        self.map_type = None          # None, "atomic", "granular"
        self.constraints = {}         # OpenAPI names, without enum
        self.enum = None
        self.rules = []
        self.default = None           # JSON text
        self.preserve = False
        self.embedded = False
        self.nullable = False

    def key(self):
        """Equal nodes have equal keys."""
        return json.dumps([self.kind, self.element.key() if self.element else None,
                           self.struct.ident if self.struct else None, self.list_type, self.list_keys, self.map_type,
                           self.constraints, self.enum, self.rules, self.default, self.preserve, self.embedded,
                           self.nullable], sort_keys=True)

    def plain(self):
        return Node(self.kind).key() == self.key()


class Field:
    def __init__(self, name, node, required=False):
        self.name = name
        self.node = node
        self.required = required
        self.default = None           # JSON text
        self.proto = 0
        self.strategy = []            # "merge", "replace", "retainKeys"
        self.merge_key = ""
        self.doc = ""


class Struct:
    def __init__(self, full_name, cpp):
        self.full_name = full_name    # "io.k8s.api.core.v1.PodSpec"; "" = not published under a name
        self.cpp = cpp                # ("core", "PodSpec"); also the key of docs
        self.ident = ""               # C++ name of the table
        self.fields = []
        self.map_type = None
        self.constraints = {}
        self.rules = []
        self.preserve = False
        self.embedded = False
        self.proto_inlines = []       # (number, Struct)
        self.doc = ""

    def field(self, name):
        return next((f for f in self.fields if f.name == name), None)


def package(full_name):
    """ "io.k8s.api.core.v1.PodSpec" -> ("core", "v1", "PodSpec")."""
    parts = full_name.split(".")
    return parts[-3], parts[-2], parts[-1]


SPECIAL = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "microtime",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "intorstring",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "any",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch": "any",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "any",
}

# Messages that exist in protobuf only: JSON has their fields inline.
INLINE_ONLY = {"VolumeSource": "Volume", "ProbeHandler": "Probe", "EphemeralContainerCommon": "EphemeralContainer"}


def unwrap(schema):
    """The $ref of a property, or None."""
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[1]
    if "allOf" in schema and len(schema["allOf"]) == 1:
        return unwrap(schema["allOf"][0])
    return None


class OpenApi:
    """Structs of the built-in kinds. `schemas` maps full names to OpenAPI v3 schemas."""

    def __init__(self, schemas, protobuf):
        self.schemas = schemas
        self.protobuf = protobuf
        self.structs = {}

    def struct(self, full_name):
        if full_name in self.structs:
            return self.structs[full_name]
        group, version, name = package(full_name)
        s = self.structs[full_name] = Struct(full_name, (group, name))
        s.ident = "".join(w[0].upper() + w[1:] for w in (group, version, name))
        schema = self.schemas[full_name]
        s.map_type = schema.get("x-kubernetes-map-type")
        s.preserve = "properties" not in schema
        proto = self.protobuf.get(full_name, {})
        required = set(schema.get("required", []))
        for key, prop in schema.get("properties", {}).items():
            f = Field(key, self.node(prop), key in required)
            f.default = self.real_default(prop)
            f.proto = proto.get(key, {}).get("n", 0)
            f.strategy = [x for x in prop.get("x-kubernetes-patch-strategy", "").split(",") if x]
            f.merge_key = prop.get("x-kubernetes-patch-merge-key", "")
            s.fields.append(f)
        for key, entry in proto.items():
            if key.startswith("(inline "):
                s.proto_inlines.append((entry["n"], self.inline(entry["type"], s)))
        return s

    def inline(self, full_name, parent):
        name = package(full_name)[2]
        if name not in INLINE_ONLY:
            return self.struct(full_name)
        s = Struct("", ("core", name))
        s.ident = "CoreV1" + name
        for key, entry in self.protobuf[full_name].items():
            f = copy.copy(parent.field(key))
            f.proto = entry["n"]
            s.fields.append(f)
        self.structs[full_name] = s
        return s

    @staticmethod
    def real_default(prop):
        """Zero values are artefacts of how the schemas are made: the API server does not apply them."""
        value = prop.get("default")
        return None if value in (None, {}, "", 0, False) else json.dumps(value, separators=(",", ":"))

    def node(self, prop):
        ref = unwrap(prop)
        if ref in SPECIAL:
            return Node(SPECIAL[ref])
        if ref:
            n = Node("struct", struct=self.struct(ref))
            n.map_type = prop.get("x-kubernetes-map-type")
            return n
        kind = prop.get("type")
        if kind == "array":
            n = Node("list", self.node(prop["items"]))
            n.list_type = prop.get("x-kubernetes-list-type")
            n.list_keys = prop.get("x-kubernetes-list-map-keys", [])
            return n
        if kind == "object" and "additionalProperties" in prop:
            n = Node("map", self.node(prop["additionalProperties"]))
            n.map_type = prop.get("x-kubernetes-map-type")
            return n
        n = Node(scalar_kind(prop))
        if "enum" in prop:
            n.enum = [json.dumps(e) for e in prop["enum"]]
        return n


def scalar_kind(prop):
    kind, fmt = prop.get("type"), prop.get("format")
    if kind == "boolean":
        return "bool"
    if kind == "integer":
        return "int32" if fmt == "int32" else "int64"
    if kind == "number":
        return "double"
    if kind == "string":
        return {"date-time": "time", "byte": "bytes"}.get(fmt, "string")
    return "any"


CONSTRAINTS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
               "minItems", "maxItems", "minProperties", "maxProperties", "uniqueItems", "pattern", "format")


class Crd:
    """Structs of one CRD version, from its openAPIV3Schema.

    `names` maps paths ("spec.podSets[]") to struct names; a name "core.PodTemplateSpec" refers to a built-in struct,
    whose C++ side and docs are then used for everything beneath.
    """

    def __init__(self, version, names, api, pool):
        self.version = version
        self.names = names
        self.api = api
        self.pool = pool              # key -> Struct, shared by all CRDs: equal structs exist once

    def root(self, kind, schema):
        return self.struct(schema, "", kind, None)

    def name_of(self, path):
        if path in self.names:
            return self.names[path]
        raise SystemExit(f"names.py has no name for {self.version} {path}")

    def struct(self, schema, path, name, builtin):
        if builtin is not None:
            s = Struct("", builtin.cpp)
        else:
            s = Struct(f"io.x-k8s.kueue.{self.version}.{name}", (self.version, name))
        s.map_type = schema.get("x-kubernetes-map-type")
        s.rules = schema.get("x-kubernetes-validations", [])
        s.constraints = {k: schema[k] for k in CONSTRAINTS if k in schema}
        s.preserve = schema.get("x-kubernetes-preserve-unknown-fields", False)
        s.embedded = schema.get("x-kubernetes-embedded-resource", False)
        required = set(schema.get("required", []))
        for key, prop in schema.get("properties", {}).items():
            child = (path + "." if path else "") + key
            if path == "" and key == "metadata":
                node = Node("struct", struct=self.api.struct("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"))
            else:
                inner = builtin.field(key).node if builtin is not None and builtin.field(key) else None
                node = self.node(prop, child, inner, builtin is not None)
            f = Field(key, node, key in required)
            f.default = node.default
            node.default = None
            s.fields.append(f)
        ident = "".join(w[0].upper() + w[1:] for w in s.cpp)
        ident = ("KueueV1" + self.version[2:] + s.cpp[1]) if builtin is None else "KueueEmbedded" + ident
        return self.intern(s, ident)

    def intern(self, s, ident):
        key = json.dumps([s.full_name, s.cpp, s.map_type, s.rules, s.constraints, s.preserve, s.embedded,
                          [[f.name, f.required, f.default, f.node.key()] for f in s.fields]], sort_keys=True)
        if key in self.pool:
            return self.pool[key]
        taken = {x.ident for x in self.pool.values()}
        s.ident, n = ident, 1
        while s.ident in taken:
            n += 1
            s.ident = f"{ident}Variant{n}"
        if n > 1:
            s.full_name = ""          # two types must not share a published name
        self.pool[key] = s
        return s

    def node(self, prop, path, inner, in_builtin):
        """`inner` is the built-in Node at this place, if there is one."""
        kind = prop.get("type")
        if "x-kubernetes-int-or-string" in prop:
            n = Node("quantity" if prop.get("pattern") == QUANTITY_PATTERN else "intorstring")
        elif kind == "array":
            n = Node("list", self.node(prop["items"], path + "[]", inner.element if inner else None, in_builtin))
            n.list_type = prop.get("x-kubernetes-list-type")
            n.list_keys = prop.get("x-kubernetes-list-map-keys", [])
        elif kind == "object" and "additionalProperties" in prop:
            n = Node("map", self.node(prop["additionalProperties"], path + "{}", inner.element if inner else None,
                                      in_builtin))
            n.map_type = prop.get("x-kubernetes-map-type")
        elif kind == "object" and "properties" in prop:
            builtin, name = None, None
            if in_builtin:
                builtin = inner.struct
            else:
                name = self.name_of(path)
                if "." in name:
                    builtin = self.api.struct(self.names["@" + name.split(".")[0]] + "." + name.split(".")[1])
            n = Node("struct", struct=self.struct(prop, path, name, builtin))
            return self.finish(n, prop, own=False)
        else:
            n = Node(scalar_kind(prop))
        return self.finish(n, prop, own=True)

    @staticmethod
    def finish(n, prop, own):
        if "default" in prop:
            n.default = json.dumps(prop["default"], separators=(",", ":"), sort_keys=True)
        n.nullable = prop.get("nullable", False)
        if own:
            implied = {"time": ("format",), "int32": ("format",), "int64": ("format",), "double": ("format",),
                       "bytes": ("format",), "quantity": ("pattern",)}.get(n.kind, ())
            n.constraints = {k: prop[k] for k in CONSTRAINTS if k in prop and k not in implied}
            if n.kind == "int64" and "format" not in prop:
                n.constraints["format"] = "-"
            n.rules = prop.get("x-kubernetes-validations", [])
            n.preserve = prop.get("x-kubernetes-preserve-unknown-fields", False)
            n.embedded = prop.get("x-kubernetes-embedded-resource", False)
            if "enum" in prop:
                n.enum = [json.dumps(e) for e in prop["enum"]]
        return n
