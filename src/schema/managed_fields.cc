#include "schema/managed_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "json/json.h"
#include "schema/apply.h"
#include "schema/compare.h"
#include "schema/errors.h"

namespace kueue::schema {
namespace {

constexpr size_t kMaxUpdateManagers = 10;
constexpr std::string_view kAncientChanges = "ancient-changes";
constexpr std::string_view kBeforeFirstApply = "before-first-apply";
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

// Paths nobody manages.
const FieldSet& unmanaged_paths() {
  static const FieldSet* const set = [] {
    auto* built = new FieldSet();
    built->insert({"apiVersion"});
    built->insert({"kind"});
    built->insert({"metadata"});
    for (std::string_view name : {"name", "namespace", "creationTimestamp", "selfLink", "uid",
                                  "clusterName", "generation", "managedFields", "resourceVersion"})
      built->insert({"metadata", name});
    return built;
  }();
  return *set;
}

// One entry of metadata.managedFields; its set is decoded when it is needed.
class Entry {
 public:
  explicit Entry(json::Value raw) : raw_(std::move(raw)) {}

  static Entry make(std::string_view manager, std::string_view operation,
                    std::string_view api_version, std::string_view subresource) {
    json::Value raw = json::Value::object({{"manager", manager},
                                           {"operation", operation},
                                           {"apiVersion", api_version},
                                           {"fieldsType", "FieldsV1"},
                                           {"fieldsV1", json::Value::object()}});
    if (!subresource.empty()) raw["subresource"] = subresource;
    Entry entry(std::move(raw));
    return entry;
  }

  std::string_view text(std::string_view name) const {
    const json::Value* value = raw_.find(name);
    return value != nullptr ? value->string_or({}) : std::string_view();
  }
  std::string_view manager() const { return text("manager"); }
  std::string_view api_version() const { return text("apiVersion"); }
  std::string_view subresource() const { return text("subresource"); }
  bool applies() const { return text("operation") == "Apply"; }

  // Is this the entry a write of this sort belongs to? Applies of one manager share an entry over
  // all versions.
  bool is(std::string_view name, bool apply, std::string_view version, std::string_view sub) const {
    return applies() == apply && manager() == name && subresource() == sub &&
           (apply || api_version() == version);
  }
  std::string identity() const {
    return fmt::format("{}\n{}\n{}\n{}", manager(), text("operation"),
                       applies() ? std::string_view() : api_version(), subresource());
  }

  bool intersects(const FieldSet& other) const { return FieldSet::intersects(encoded(), other); }
  bool contains_all(const FieldSet& other) const {
    return FieldSet::contains_all(encoded(), other);
  }
  const FieldSet& set() {
    if (!set_) {
      auto parsed = FieldSet::parse(encoded());
      set_ = parsed.ok() ? std::move(parsed).value() : FieldSet();
    }
    return *set_;
  }
  void assign(FieldSet set) {
    raw_["fieldsV1"] = set.encode();
    set_ = std::move(set);
    changed_ = true;
  }
  void add(const FieldSet& other) {
    FieldSet::add_to(fields(), other);
    set_.reset();
    changed_ = true;
  }
  void subtract(const FieldSet& other) {
    FieldSet::subtract_from(fields(), other);
    set_.reset();
    changed_ = true;
  }
  // True when a change left nothing.
  bool is_spent() const { return changed_ && encoded().as_object().empty(); }
  void set_version(std::string_view version) { raw_["apiVersion"] = version; }
  void set_time(Instant now) { raw_["time"] = format_time(now); }
  void copy_time(const Entry& other) {
    if (const json::Value* time = other.raw_.find("time")) raw_["time"] = *time;
  }
  int64_t seconds() const {
    auto time = parse_time(text("time"));
    return time.ok() ? time.value().ns / 1'000'000'000 : 0;
  }

  json::Value encode() && { return std::move(raw_); }

 private:
  const json::Value& encoded() const {
    static const json::Value kNothing = json::Value::object();
    const json::Value* fields = raw_.find("fieldsV1");
    return fields != nullptr && fields->is_object() ? *fields : kNothing;
  }
  json::Value& fields() {
    json::Value& fields = raw_["fieldsV1"];
    if (!fields.is_object()) fields = json::Value::object();
    return fields;
  }

  json::Value raw_;
  std::optional<FieldSet> set_;  // decoded when asked for
  bool changed_ = false;
};

using Entries = std::vector<Entry>;

bool is_entry(const json::Value& value) {
  if (!value.is_object()) return false;
  const std::string_view operation = value.get_string({"operation"});
  if (operation != "Apply" && operation != "Update") return false;
  const json::Value* fields = value.find("fieldsV1");
  return value.get_string({"fieldsType"}) == "FieldsV1" &&
         (fields == nullptr || fields->is_object());
}

// False when the list is absent, empty or cannot be read.
bool is_readable(const json::Value* list) {
  if (list == nullptr || !list->is_array() || list->as_array().empty()) return false;
  return std::all_of(list->as_array().begin(), list->as_array().end(), is_entry);
}

// No entries when the list cannot be read.
Entries copy_entries(const json::Value* list) {
  Entries entries;
  if (!is_readable(list)) return entries;
  entries.reserve(list->as_array().size());
  for (const json::Value& item : list->as_array()) entries.emplace_back(item);
  return entries;
}

Entries move_entries(json::Value& list) {
  Entries entries;
  entries.reserve(list.as_array().size());
  for (json::Value& item : list.as_array()) entries.emplace_back(std::move(item));
  return entries;
}

const json::Value* managed_fields(const json::Value* document) {
  return document != nullptr ? document->find_path({"metadata", "managedFields"}) : nullptr;
}

// [{}]: the client asks to forget all managers.
bool is_reset(const json::Value* list) {
  return list != nullptr && list->is_array() && list->as_array().size() == 1 &&
         list->as_array()[0].is_object() && list->as_array()[0].as_object().empty();
}

// Takes the entries out of the request where they count, else those of the object before.
Entries take_entries(const json::Value* before, json::Value& after, bool from_request) {
  json::Value* own = after.find_path({"metadata", "managedFields"});
  const json::Value* old = managed_fields(before);
  if (from_request && is_reset(own)) return {};
  if (is_readable(own)) {
    // Clients mostly send back what they got; moving is cheaper than copying.
    if (from_request || (old != nullptr && *old == *own)) return move_entries(*own);
  }
  return copy_entries(old);
}

// Comparisons of one write, per version that some entry speaks.
class Differences {
 public:
  Differences(const json::Value& before, const json::Value& after, const WriteContext& context)
      : before_(before), after_(after), context_(context) {
    own_ = filtered(compare(context.type, before, after));
  }

  const Comparison& own() const { return own_; }

  // nullptr when the version is not served any more.
  const Comparison* in(std::string_view version) {
    const Versions* versions = context_.versions;
    if (version == context_.api_version || versions == nullptr || !versions->type) return &own_;
    const auto known = others_.find(std::string(version));
    if (known != others_.end()) return known->second ? &*known->second : nullptr;
    auto& slot = others_[std::string(version)];
    const Type* type = versions->type(version);
    if (type == nullptr) return nullptr;
    if (own_.empty() || !versions->convert) {
      slot = own_;
      return &*slot;
    }
    auto before = versions->convert(before_, version);
    auto after = versions->convert(after_, version);
    if (!before.ok() || !after.ok()) return nullptr;
    slot = filtered(compare(*type, before.value(), after.value()));
    return &*slot;
  }

 private:
  Comparison filtered(Comparison found) const {
    found.changed = found.changed.without(unmanaged_paths());
    found.removed = found.removed.without(unmanaged_paths());
    if (context_.reset_fields != nullptr) {
      found.changed = found.changed.without_subtrees(*context_.reset_fields);
      found.removed = found.removed.without_subtrees(*context_.reset_fields);
    }
    return found;
  }

  const json::Value& before_;
  const json::Value& after_;
  const WriteContext& context_;
  Comparison own_;
  std::map<std::string, std::optional<Comparison>> others_;
};

// Takes what a write changed from all entries but `keep` (an index), and what it removed from all.
void take_from_others(Entries& entries, size_t keep, Differences& differences) {
  for (size_t i = 0; i < entries.size(); ++i) {
    Entry& entry = entries[i];
    const Comparison* found = differences.in(entry.api_version());
    if (found == nullptr) {
      entry.assign(FieldSet());
      continue;
    }
    if (i != keep && entry.intersects(found->changed)) entry.subtract(found->changed);
    if (entry.intersects(found->removed)) entry.subtract(found->removed);
  }
}

void drop_spent(Entries& entries) {
  std::erase_if(entries, [](const Entry& entry) { return entry.is_spent(); });
}

// At most kMaxUpdateManagers update entries: the oldest of a version become one.
void cap_entries(Entries& entries) {
  std::vector<size_t> updates;
  for (size_t i = 0; i < entries.size(); ++i)
    if (!entries[i].applies()) updates.push_back(i);
  if (updates.size() <= kMaxUpdateManagers) return;
  std::sort(updates.begin(), updates.end(), [&](size_t a, size_t b) {
    const int64_t left = entries[a].seconds();
    const int64_t right = entries[b].seconds();
    return left != right ? left < right : entries[a].identity() < entries[b].identity();
  });
  size_t count = updates.size();
  std::map<std::string, size_t> first;    // of a version: the entry later ones are merged with
  std::map<std::string, size_t> buckets;  // of a version: the merged entry, once there is one
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].is(kAncientChanges, false, entries[i].api_version(), ""))
      buckets.emplace(entries[i].api_version(), i);
  std::vector<Entry> made;
  for (size_t at : updates) {
    if (count <= kMaxUpdateManagers) break;
    Entry& entry = entries[at];
    const std::string version(entry.api_version());
    const auto known = first.find(version);
    if (known == first.end()) {
      first.emplace(version, at);
      continue;
    }
    auto bucket = buckets.find(version);
    if (bucket == buckets.end()) {
      // The first of the version turns into the bucket.
      Entry& oldest = entries[known->second];
      Entry renamed = Entry::make(kAncientChanges, "Update", version, "");
      renamed.copy_time(oldest);
      renamed.assign(oldest.set());
      oldest = std::move(renamed);
      bucket = buckets.emplace(version, known->second).first;
    }
    if (bucket->second == at) continue;
    Entry& into = entries[bucket->second];
    into.add(entry.set());
    into.copy_time(entry);
    entry.assign(FieldSet());
    --count;
  }
  drop_spent(entries);
}

void sort_entries(Entries& entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    if (a.applies() != b.applies()) return a.applies();
    const int64_t left = a.seconds();
    const int64_t right = b.seconds();
    if (left != right) return left < right;
    if (a.manager() != b.manager()) return a.manager() < b.manager();
    if (a.api_version() != b.api_version()) return a.api_version() < b.api_version();
    return a.subresource() < b.subresource();
  });
}

void write_entries(json::Value& document, Entries entries) {
  sort_entries(entries);
  document.erase_path({"metadata", "managedFields"});
  if (entries.empty()) return;
  json::Array list;
  list.reserve(entries.size());
  for (Entry& entry : entries) list.push_back(std::move(entry).encode());
  json::Value* metadata = document.find("metadata");
  if (metadata == nullptr || !metadata->is_object()) return;
  (*metadata)["managedFields"] = std::move(list);
}

// What Go has where nothing was said yet. Its built-in objects hold structs by value and write
// lists that must be there as null, so that a create adds to them instead of adding them. Only what
// lies outside of lists shows.
json::Value empty_object(const Type& type, int depth = 0) {
  static constexpr std::string_view kByValue[] = {
      "metadata",  "spec",    "status", "template",       "jobTemplate",    "strategy",
      "resources", "roleRef", "source", "scaleTargetRef", "involvedObject", "updateStrategy"};
  json::Value out = json::Value::object();
  if (!type.name.starts_with("io.k8s.") || depth > 8) return out;
  for (const Field& field : type.fields) {
    const Type& member = *field.type;
    const bool by_value =
        std::find(std::begin(kByValue), std::end(kByValue), field.name) != std::end(kByValue);
    if (member.kind == Kind::kStruct && by_value) out[field.name] = empty_object(member, depth + 1);
    if (member.kind == Kind::kList && field.required) out[field.name] = nullptr;
  }
  return out;
}

size_t find_entry(const Entries& entries, std::string_view manager, bool apply,
                  std::string_view version, std::string_view subresource) {
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].is(manager, apply, version, subresource)) return i;
  return entries.size();
}

// The entries after an update; neither document needs its managedFields.
void update_entries(Entries& entries, const json::Value& before, const json::Value& after,
                    const WriteContext& context, std::string_view manager) {
  Differences differences(before, after, context);
  size_t own = find_entry(entries, manager, false, context.api_version, context.subresource);
  take_from_others(entries, own, differences);
  const FieldSet& changed = differences.own().changed;
  if (!changed.empty()) {
    if (own == entries.size())
      entries.push_back(Entry::make(manager, "Update", context.api_version, context.subresource));
    Entry& entry = entries[own];
    if (!entry.contains_all(changed) || entry.is_spent()) entry.assign(entry.set().united(changed));
    entry.set_time(context.now);
  }
  drop_spent(entries);
}

// What applying would take from others.
struct Conflict {
  const Entry* entry;
  FieldSet fields;
};

std::string manager_text(const Entry& entry) {
  std::string out = go_quote(entry.manager());
  if (!entry.subresource().empty())
    out += fmt::format(" with subresource {}", go_quote(entry.subresource()));
  if (!entry.applies()) out += fmt::format(" using {}", entry.api_version());
  return out;
}

Error conflict_error(std::vector<Conflict> conflicts) {
  std::sort(conflicts.begin(), conflicts.end(), [](const Conflict& a, const Conflict& b) {
    return a.entry->identity() < b.entry->identity();
  });
  Error error = make_error(ErrorCode::kConflict, "");
  std::string details;
  for (const Conflict& conflict : conflicts) {
    const std::string who = manager_text(*conflict.entry);
    if (!details.empty()) details += '\n';
    details += fmt::format("conflicts with {}:", who);
    for (const std::string& path : conflict.fields.paths()) {
      error.causes.push_back({"FieldManagerConflict", "conflict with " + who, path});
      details += "\n- " + path;
    }
  }
  if (error.causes.size() == 1) {
    error.message = fmt::format("Apply failed with 1 conflict: {}: {}", error.causes[0].message,
                                error.causes[0].field);
  } else {
    error.message = fmt::format("Apply failed with {} conflicts: {}", error.causes.size(), details);
  }
  return error;
}

// Fields of the last client-side apply that nobody changed since: server-side apply of kubectl may
// take them.
FieldSet upgradable_fields(const json::Value& live, const WriteContext& context) {
  const std::string_view text = live.get_string({"metadata", "annotations", kLastApplied});
  if (text.empty()) return {};
  auto applied = json::parse(text);
  if (!applied.ok() || !apply_problems(context.type, applied.value()).empty()) return {};
  const Comparison since = compare(context.type, applied.value(), live);
  return owned_fields(context.type, applied.value()).without(since.changed).without(since.removed);
}

void refresh_last_applied(json::Value& object, const json::Value& config) {
  if (object.find_path({"metadata", "annotations", kLastApplied}) == nullptr) return;
  json::Value shown = config;
  shown.erase_path({"metadata", "annotations", kLastApplied});
  shown.erase_path({"metadata", "managedFields"});
  object.at_path({"metadata", "annotations", kLastApplied}) = json::write_sorted(shown) + "\n";
}

Result<void> check_config(const json::Value& config, const WriteContext& context) {
  const json::Value* managed = managed_fields(&config);
  if (managed != nullptr && !managed->is_null() &&
      !(managed->is_array() && managed->as_array().empty()))
    return make_error(ErrorCode::kBadRequest, "metadata.managedFields must be nil");
  const std::vector<std::string> problems = apply_problems(context.type, config);
  if (problems.empty()) return {};
  std::string name(config.get_string({"metadata", "name"}));
  const std::string_view space = config.get_string({"metadata", "namespace"});
  if (!space.empty()) name = fmt::format("{}/{}", space, name);
  const std::string what = problems.size() == 1
                               ? problems[0]
                               : fmt::format("errors:\n  {}", fmt::join(problems, "\n  "));
  return make_error(
      ErrorCode::kInternal,
      fmt::format("failed to create typed patch object ({}; {}, Kind={}): {}", name,
                  config.get_string({"apiVersion"}), config.get_string({"kind"}), what));
}

// `merged` without what the manager applied last time and nobody manages now.
Result<json::Value> drop_unapplied(json::Value merged, Entries& entries, size_t own,
                                   const FieldSet& last, std::string_view last_version,
                                   const FieldSet& applied, const WriteContext& context) {
  if (last.empty()) return merged;
  const Versions* versions = context.versions;
  const bool convert = versions != nullptr && versions->convert && versions->type &&
                       last_version != context.api_version;
  const Type* type = convert ? versions->type(last_version) : &context.type;
  if (type == nullptr) return merged;
  FieldSet managed;
  for (size_t i = 0; i < entries.size(); ++i)
    if (i != own && (!convert || entries[i].api_version() == last_version))
      managed = managed.united(entries[i].set());
  if (!convert) return remove_unapplied(*type, std::move(merged), last, managed.united(applied));
  KUEUE_ASSIGN(json::Value old_form, versions->convert(merged, last_version));
  // What is applied now, in the words of the old version: claimed as far as the old version has it.
  managed = managed.united(last.intersected(owned_fields(*type, old_form)).without(last));
  old_form = remove_unapplied(*type, std::move(old_form), last, managed.united(applied));
  return versions->convert(old_form, context.api_version);
}

class Application {
 public:
  Application(const json::Value* live, const json::Value& config, const WriteContext& context)
      : given_(live), config_(config), context_(context) {
    if (live != nullptr) {
      live_ = *live;
      live_.erase_path({"metadata", "managedFields"});
    } else {
      live_ = json::Value::object();
      for (std::string_view name : {"apiVersion", "kind"})
        if (const json::Value* value = config.find(name)) live_[name] = *value;
    }
    entries_ = copy_entries(managed_fields(live));
    if (live != nullptr && entries_.empty()) {
      // Nobody tracked this object so far: what is there belongs to no applier.
      update_entries(entries_, empty_object(context.type), live_, context, kBeforeFirstApply);
      tracking_began_ = true;
    }
  }

  Result<json::Value> run(bool force) {
    KUEUE_TRY(check_config(config_, context_));
    applied_ = owned_fields(context_.type, config_).without(unmanaged_paths());
    if (context_.reset_fields != nullptr)
      applied_ = applied_.without_subtrees(*context_.reset_fields);
    own_ = find_entry(entries_, context_.manager, true, "", context_.subresource);
    const bool had_entry = own_ < entries_.size();
    const FieldSet last = had_entry ? entries_[own_].set() : FieldSet();
    const std::string last_version(had_entry ? entries_[own_].api_version() : "");
    json::Value merged = merge_applied(context_.type, live_, config_);
    KUEUE_ASSIGN(json::Value object, drop_unapplied(std::move(merged), entries_, own_, last,
                                                    last_version, applied_, context_));
    Differences differences(live_, object, context_);
    KUEUE_TRY(check_conflicts(differences, force));
    const bool same_object = differences.own().empty();
    const bool same_entry = had_entry && last == applied_ && last_version == context_.api_version;
    if (same_object && same_entry && !tracking_began_ && given_ != nullptr) return *given_;
    take_from_others(entries_, own_, differences);
    if (!had_entry)
      entries_.push_back(
          Entry::make(context_.manager, "Apply", context_.api_version, context_.subresource));
    Entry& entry = entries_[own_];
    entry.assign(applied_);
    entry.set_version(context_.api_version);
    // As kube-apiserver does: joining in without changing the object leaves no time.
    if (!same_object || given_ == nullptr) entry.set_time(context_.now);
    drop_spent(entries_);
    if (context_.manager == "kubectl") refresh_last_applied(object, config_);
    write_entries(object, std::move(entries_));
    return object;
  }

 private:
  Result<void> check_conflicts(Differences& differences, bool force) {
    if (force) return {};
    std::vector<Conflict> conflicts;
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (i == own_) continue;
      const Comparison* found = differences.in(entries_[i].api_version());
      if (found == nullptr || !entries_[i].intersects(found->changed)) continue;
      conflicts.push_back({&entries_[i], entries_[i].set().intersected(found->changed)});
    }
    if (context_.manager == "kubectl" && !conflicts.empty()) {
      const FieldSet allowed = upgradable_fields(live_, context_);
      for (Conflict& conflict : conflicts) conflict.fields = conflict.fields.without(allowed);
      std::erase_if(conflicts, [](const Conflict& c) { return c.fields.empty(); });
    }
    if (conflicts.empty()) return {};
    return conflict_error(std::move(conflicts));
  }

  const json::Value* given_;
  const json::Value& config_;
  const WriteContext& context_;
  json::Value live_;  // without managedFields
  Entries entries_;
  bool tracking_began_ = false;
  FieldSet applied_;
  size_t own_ = 0;
};

}  // namespace

json::Value track_update(const json::Value* before, json::Value after,
                         const WriteContext& context) {
  Entries entries = take_entries(before, after, context.subresource.empty());
  after.erase_path({"metadata", "managedFields"});
  // An object that nobody tracks stays so until something is applied to it.
  if (before != nullptr && entries.empty()) return after;
  if (before != nullptr) {
    update_entries(entries, *before, after, context, context.manager);
  } else {
    update_entries(entries, empty_object(context.type), after, context, context.manager);
  }
  cap_entries(entries);
  write_entries(after, std::move(entries));
  return after;
}

Result<json::Value> server_side_apply(const json::Value* live, const json::Value& config,
                                      bool force, const WriteContext& context) {
  return Application(live, config, context).run(force);
}

bool equal_but_for_times(const json::Value& a, const json::Value& b) {
  const json::Value* left = managed_fields(&a);
  const json::Value* right = managed_fields(&b);
  if ((left == nullptr) != (right == nullptr)) return false;
  if (left != nullptr) {
    if (!left->is_array() || !right->is_array() ||
        left->as_array().size() != right->as_array().size())
      return false;
    for (size_t i = 0; i < left->as_array().size(); ++i) {
      json::Value x = left->as_array()[i];
      json::Value y = right->as_array()[i];
      if (x.is_object()) x.as_object().erase("time");
      if (y.is_object()) y.as_object().erase("time");
      if (!(x == y)) return false;
    }
  }
  for (const auto& [one, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    if (!one->is_object() || !other->is_object()) return a == b;
    for (const auto& [key, value] : one->as_object()) {
      const json::Value* match = other->find(key);
      if (match == nullptr) return false;
      if (key != "metadata") {
        if (!(*match == value)) return false;
        continue;
      }
      if (!value.is_object() || !match->is_object()) return false;
      for (const auto& [name, member] : value.as_object()) {
        const json::Value* pair = match->find(name);
        if (pair == nullptr || (name != "managedFields" && !(*pair == member))) return false;
      }
    }
  }
  return true;
}

}  // namespace kueue::schema
