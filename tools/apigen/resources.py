"""ResourceInfos: where each kind is served and how it is shown."""
import names
from tables import HEADER, quote

# Served by a real API server but of no use without machines or other versions of ours.
SKIPPED = {"componentstatuses"}
ALL_VERBS = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}


def full_name(api, group, version, kind):
    for name in api.schemas:
        parts = name.split(".")
        if parts[-1] == kind and parts[-2] == version:
            gvks = api.schemas[name].get("x-kubernetes-group-version-kind", [])
            if {"group": group, "kind": kind, "version": version} in gvks:
                return name
    return None


def resource_infos(api, discovery, crds, kueue_roots, hand, config):
    infos = builtin_infos(api, discovery)
    for crd in crds:
        infos += crd_infos(crd, kueue_roots)
    for namespace, module in config.items():
        for kind, r in module.get("resources", {}).items():
            s = hand[(namespace, kind)]
            infos.append({"family": "other", "group": module["group"], "version": module["version"], "kind": kind,
                          "plural": r["plural"], "singular": kind.lower(), "namespaced": r.get("namespaced", False),
                          "struct": s, "verbs": r.get("verbs", []), "ident": "k" + s.ident + "Resource"})
    return infos


def builtin_infos(api, discovery):
    infos = []
    for path, document in discovery.items():
        if "resources" not in document:
            continue
        group, version = ("", path.split("/")[2]) if path.startswith("/api/") else path.split("/")[2:4]
        resources = [r for r in document["resources"] if "/" not in r["name"] and r["name"] not in SKIPPED]
        for r in resources:
            name = full_name(api, group, version, r["kind"])
            if name is None:
                raise SystemExit(f"no schema for {group}/{version} {r['kind']}")
            s = api.struct(name)
            subs = [x for x in document["resources"] if x["name"].startswith(r["name"] + "/")]
            info = {"family": "builtin", "group": group, "version": version, "kind": r["kind"], "plural": r["name"],
                    "singular": r["singularName"], "short_names": r.get("shortNames", []),
                    "categories": r.get("categories", []), "namespaced": r["namespaced"], "struct": s,
                    "verbs": [] if set(r["verbs"]) == ALL_VERBS else r["verbs"], "ident": "k" + s.ident + "Resource",
                    "selectable": names.SELECTABLE.get((group, r["name"]), []), "subresources": []}
            for x in subs:
                sub = x["name"].split("/", 1)[1]
                if sub == "status":
                    info["status"] = True
                elif sub == "scale":
                    info["scale"] = (".spec.replicas", ".status.replicas", ".spec.selector")
                else:
                    info["subresources"].append((sub, x.get("group", group), x.get("version", version), x["kind"],
                                                 x["verbs"]))
            infos.append(info)
    return infos


def crd_infos(crd, kueue_roots):
    spec, infos = crd["spec"], []
    for v in spec["versions"]:
        s = kueue_roots[(v["name"], spec["names"]["kind"])]
        sub = v.get("subresources", {})
        scale = sub.get("scale")
        infos.append({
            "family": "kueue", "group": spec["group"], "version": v["name"], "kind": spec["names"]["kind"],
            "plural": spec["names"]["plural"], "singular": spec["names"]["singular"],
            "short_names": spec["names"].get("shortNames", []), "categories": spec["names"].get("categories", []),
            "namespaced": spec["scope"] == "Namespaced", "status": "status" in sub,
            "scale": (scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", ""))
                     if scale else None,
            "columns": v.get("additionalPrinterColumns", []),
            "selectable": [x["jsonPath"] for x in v.get("selectableFields", [])], "struct": s,
            "ident": "k" + s.ident + "Resource", "storage": v["storage"], "deprecated": v.get("deprecated", False),
            "warning": v.get("deprecationWarning", "")})
    return infos


def info_text(i):
    lines, out = [], []

    def strings(name, values):
        if values:
            lines.append(f"constexpr std::string_view {name}{i['ident']}[] = {{{', '.join(map(quote, values))}}};")
        return bool(values)
    for key in ("group", "version", "kind", "plural", "singular"):
        out.append(f".{key} = {quote(i[key])}")
    if strings("kShort", i.get("short_names")):
        out.append(f".short_names = kShort{i['ident']}")
    if strings("kCategories", i.get("categories")):
        out.append(f".categories = kCategories{i['ident']}")
    out.append(f".namespaced = {'true' if i['namespaced'] else 'false'}")
    if i.get("status"):
        out.append(".has_status = true")
    if i.get("scale"):
        out.append(".scale = ScalePaths{" + ", ".join(map(quote, i["scale"])) + "}")
    if i.get("columns"):
        items = []
        for c in i["columns"]:
            parts = [f".name = {quote(c['name'])}", f".type = {quote(c['type'])}", f".json_path = {quote(c['jsonPath'])}"]
            if c.get("priority"):
                parts.append(f".priority = {c['priority']}")
            if c.get("format"):
                parts.append(f".format = {quote(c['format'])}")
            items.append("{" + ", ".join(parts) + "}")
        lines.append(f"constexpr PrinterColumn kColumns{i['ident']}[] = {{{', '.join(items)}}};")
        out.append(f".columns = kColumns{i['ident']}")
    if strings("kSelectable", i.get("selectable")):
        out.append(f".selectable_fields = kSelectable{i['ident']}")
    out.append(f".type = &k{i['struct'].ident}")
    if strings("kVerbs", i.get("verbs")):
        out.append(f".verbs = kVerbs{i['ident']}")
    if i.get("subresources"):
        items = []
        for n, (sub, group, version, kind, verbs) in enumerate(i["subresources"]):
            lines.append(f"constexpr std::string_view kSub{n}{i['ident']}[] = {{{', '.join(map(quote, verbs))}}};")
            items.append(f"{{{quote(sub)}, {quote(group)}, {quote(version)}, {quote(kind)}, kSub{n}{i['ident']}}}")
        lines.append(f"constexpr Subresource kSubs{i['ident']}[] = {{{', '.join(items)}}};")
        out.append(f".subresources = kSubs{i['ident']}")
    if not i.get("storage", True):
        out.append(".storage = false")
    if i.get("deprecated"):
        out.append(".deprecated = true")
    if i.get("warning"):
        out.append(f".deprecation_warning = {quote(i['warning'])}")
    return lines, f"constinit const ResourceInfo {i['ident']}{{{', '.join(out)}}};"


def resources_files(infos):
    header = [HEADER + "// Where each kind is served: constant data. Use api/registry.h to look them up.", "#pragma once",
              "", "#include <span>", "", '#include "schema/type.h"', "", "namespace kueue::api::gen {", ""]
    header += [f"extern const schema::ResourceInfo {i['ident']};" for i in infos]
    families = {"builtin": "kBuiltinResources", "kueue": "kKueueResources", "other": "kOtherResources"}
    header += [""] + [f"extern const std::span<const schema::ResourceInfo* const> {n};" for n in families.values()]
    header += ["", "}  // namespace kueue::api::gen", ""]
    local, bodies = [], []
    for i in infos:
        lines, body = info_text(i)
        local += lines
        bodies.append(body)
    tail = []
    for family, name in families.items():
        items = ", ".join("&" + i["ident"] for i in infos if i["family"] == family)
        tail += [f"static constexpr const ResourceInfo* {name}Array[] = {{{items}}};",
                 f"constinit const std::span<const ResourceInfo* const> {name} = {name}Array;"]
    cc = (HEADER + '#include "api/gen/resources.h"\n\n#include "api/gen/tables.h"\n\nnamespace kueue::api::gen {\n'
          "using namespace schema;  // NOLINT\nnamespace {\n" + "\n".join(local) + "\n}  // namespace\n\n"
          + "\n".join(bodies) + "\n\n" + "\n".join(tail) + "\n\n}  // namespace kueue::api::gen\n")
    return {"resources.h": "\n".join(header), "resources.cc": cc}
