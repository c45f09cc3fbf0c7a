#include "apiserver/gc.h"

#include <algorithm>
#include <cstring>

#include "apiserver/core.h"
#include "apiserver/json_scan.h"
#include "apiserver/write.h"
#include "json/json.h"

namespace kueue::apiserver {

namespace {

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";

std::set<std::string> owner_uids(std::string_view bytes) {
  std::set<std::string> uids;
  const std::string_view owners = scan_path(bytes, {"metadata", "ownerReferences"});
  if (owners.empty()) return uids;
  for (Members m(owners); m.next();) uids.insert(scan_string(m.value(), {"uid"}));
  return uids;
}

bool has_finalizer(std::string_view bytes, std::string_view name) {
  for (Members m(scan_path(bytes, {"metadata", "finalizers"})); m.next();)
    if (scan_text(m.value()) == name) return true;
  return false;
}

bool being_deleted(std::string_view bytes) {
  return !scan_string(bytes, {"metadata", "deletionTimestamp"}).empty();
}

bool mentions(std::string_view text, std::string_view word) {
  return memmem(text.data(), text.size(), word.data(), word.size()) != nullptr;
}

void erase_string(json::Value& object, std::string_view list, std::string_view text) {
  json::Value* values = object.find_path({"metadata", list});
  if (values == nullptr || !values->is_array()) return;
  std::erase_if(values->as_array(), [&](const json::Value& v) { return v.string_or("") == text; });
  if (values->as_array().empty()) object.erase_path({"metadata", list});
}

}  // namespace

void Collector::index(const Place& place, std::string_view before, std::string_view after) {
  const std::set<std::string> old_uids = owner_uids(before);
  const std::set<std::string> new_uids = owner_uids(after);
  if (old_uids.empty() && new_uids.empty()) return;
  std::lock_guard lock(mutex_);
  for (const std::string& uid : old_uids) {
    if (new_uids.contains(uid)) continue;
    const auto it = by_owner_.find(uid);
    if (it == by_owner_.end()) continue;
    it->second.erase(place);
    if (it->second.empty()) by_owner_.erase(it);
  }
  for (const std::string& uid : new_uids) by_owner_[uid].insert(place);
}

std::set<Collector::Place> Collector::dependents(const std::string& uid) const {
  std::lock_guard lock(mutex_);
  const auto it = by_owner_.find(uid);
  return it == by_owner_.end() ? std::set<Place>() : it->second;
}

void Collector::load() {
  for (const std::string& collection : core_.store->collections())
    for (const auto& [key, stored] : core_.store->snapshot(collection, "").items) {
      // Nearly all objects have neither, which is seen faster than where they would stand.
      if (!mentions(stored->bytes, "\"ownerReferences\"") &&
          !mentions(stored->bytes, "\"deletionTimestamp\""))
        continue;
      const Place place{collection, key};
      const bool owned = !scan_path(stored->bytes, {"metadata", "ownerReferences"}).empty();
      if (owned) {
        index(place, "", stored->bytes);
        core_.background.run([this, place] { check_dependent(place); });
      }
      if (being_deleted(stored->bytes))
        core_.background.run([this, place] { owner_deleting(place); });
    }
}

void Collector::observe(const Change& change) {
  const Place place{*change.collection, change.key};
  const bool deleted = change.type == ChangeType::kDeleted;
  const std::string_view before =
      change.previous == nullptr ? std::string_view() : std::string_view(change.previous->bytes);
  const std::string_view after = deleted ? std::string_view() : change.object->bytes;
  index(place, before, after);
  if (deleted) {
    const std::string uid = scan_string(before, {"metadata", "uid"});
    core_.background.run([this, uid] { owner_gone(uid); });
    // Owners that wait for this dependent.
    for (const std::string& owner : owner_uids(before)) {
      (void)owner;
      core_.background.run([this, bytes = change.previous] {
        for (Members m(scan_path(bytes->bytes, {"metadata", "ownerReferences"})); m.next();) {
          const std::string api_version = scan_string(m.value(), {"apiVersion"});
          const size_t slash = api_version.find('/');
          const auto catalog = core_.catalog();
          const Served* served = catalog->find_kind(
              slash == std::string::npos ? "" : api_version.substr(0, slash),
              slash == std::string::npos ? api_version : api_version.substr(slash + 1),
              scan_string(m.value(), {"kind"}));
          if (served == nullptr) continue;
          const std::string namespace_ = served->resource->namespaced
                                             ? scan_string(bytes->bytes, {"metadata", "namespace"})
                                             : "";
          finish_foreground({served->resource->collection,
                             object_key(namespace_, scan_string(m.value(), {"name"}))});
        }
      });
      break;
    }
    return;
  }
  const bool owned = !scan_path(after, {"metadata", "ownerReferences"}).empty();
  if (owned && owner_uids(before) != owner_uids(after))
    core_.background.run([this, place] { check_dependent(place); });
  if (being_deleted(after) &&
      (!being_deleted(before) ||
       has_finalizer(before, kForeground) != has_finalizer(after, kForeground) ||
       has_finalizer(before, kOrphan) != has_finalizer(after, kOrphan)))
    core_.background.run([this, place] { owner_deleting(place); });
}

void Collector::owner_gone(const std::string& uid) {
  for (const Place& place : dependents(uid)) check_dependent(place, uid);
}

// An owner with foregroundDeletion: its dependents are deleted, then it goes. With orphan: they are
// let go first.
void Collector::owner_deleting(const Place& owner) {
  const StoredPtr stored = core_.store->get(owner.first, owner.second);
  if (stored == nullptr) return;
  if (has_finalizer(stored->bytes, kOrphan)) return orphan(owner);
  if (!has_finalizer(stored->bytes, kForeground)) return;
  for (const Place& place : dependents(scan_string(stored->bytes, {"metadata", "uid"})))
    check_dependent(place);
  finish_foreground(owner);
}

void Collector::orphan(const Place& owner) {
  const StoredPtr stored = core_.store->get(owner.first, owner.second);
  if (stored == nullptr) return;
  const std::string uid = scan_string(stored->bytes, {"metadata", "uid"});
  for (const Place& place : dependents(uid))
    edit_internally(core_, place.first, place.second, [&](json::Value& object) {
      json::Value* owners = object.find_path({"metadata", "ownerReferences"});
      if (owners == nullptr || !owners->is_array()) return false;
      std::erase_if(owners->as_array(),
                    [&](const json::Value& o) { return o.get_string({"uid"}) == uid; });
      if (owners->as_array().empty()) object.erase_path({"metadata", "ownerReferences"});
      return true;
    });
  edit_internally(core_, owner.first, owner.second, [](json::Value& object) {
    erase_string(object, "finalizers", kOrphan);
    return true;
  });
}

void Collector::finish_foreground(const Place& place) {
  const StoredPtr stored = core_.store->get(place.first, place.second);
  if (stored == nullptr || !being_deleted(stored->bytes) ||
      !has_finalizer(stored->bytes, kForeground))
    return;
  const std::string uid = scan_string(stored->bytes, {"metadata", "uid"});
  for (const Place& d : dependents(uid)) {
    const StoredPtr dependent = core_.store->get(d.first, d.second);
    if (dependent == nullptr) continue;
    for (Members m(scan_path(dependent->bytes, {"metadata", "ownerReferences"})); m.next();)
      if (scan_string(m.value(), {"uid"}) == uid &&
          scan_path(m.value(), {"blockOwnerDeletion"}) == "true")
        return;
  }
  edit_internally(core_, place.first, place.second, [](json::Value& object) {
    erase_string(object, "finalizers", kForeground);
    return true;
  });
}

// Deletes the object when none of its owners is there any more, or when an owner waits for it in
// foreground deletion; otherwise drops references to owners that are gone.
void Collector::check_dependent(const Place& place, std::string_view gone) {
  const auto catalog = core_.catalog();
  edit_internally(core_, place.first, place.second, [&](json::Value& object) {
    json::Value* owners = object.find_path({"metadata", "ownerReferences"});
    if (owners == nullptr || !owners->is_array() || owners->as_array().empty()) return false;
    const std::string_view namespace_ = object.get_string({"metadata", "namespace"});
    json::Array keep;
    bool foreground = false;
    bool solid = false;
    for (const json::Value& owner : owners->as_array()) {
      if (!gone.empty() && owner.get_string({"uid"}) == gone) continue;
      const std::string_view api_version = owner.get_string({"apiVersion"});
      const size_t slash = api_version.find('/');
      const Served* served = catalog->find_kind(
          slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash),
          slash == std::string_view::npos ? api_version : api_version.substr(slash + 1),
          owner.get_string({"kind"}));
      // An unknown kind may come back: leave the object alone.
      if (served == nullptr) return false;
      const StoredPtr found = core_.store->get(
          served->resource->collection,
          object_key(served->resource->namespaced ? namespace_ : std::string_view(),
                     owner.get_string({"name"})));
      if (found == nullptr ||
          scan_string(found->bytes, {"metadata", "uid"}) != owner.get_string({"uid"}))
        continue;
      if (being_deleted(found->bytes) && has_finalizer(found->bytes, kForeground))
        foreground = true;
      else
        solid = true;
      keep.push_back(owner);
    }
    if (solid || (keep.empty() == false && !foreground)) {
      if (keep.size() == owners->as_array().size()) return false;
      *owners = json::Value(std::move(keep));
      return true;
    }
    if (object.find_path({"metadata", "deletionTimestamp"}) != nullptr) return false;
    json::Value& metadata = object["metadata"];
    int64_t grace = 0;
    if (place.first == "/pods" && !object.get_string({"spec", "nodeName"}).empty()) {
      const std::string_view phase = object.get_string({"status", "phase"});
      if (phase != "Succeeded" && phase != "Failed")
        grace = object.get_int({"spec", "terminationGracePeriodSeconds"}, 30);
    }
    // A dependent that blocks is itself deleted in foreground, so that its own dependents go first.
    if (foreground) {
      bool has = false;
      json::Value& finalizers = metadata["finalizers"];
      if (!finalizers.is_array()) finalizers = json::Value::array();
      for (const json::Value& f : finalizers.as_array()) has |= f.string_or("") == kForeground;
      if (!has) finalizers.as_array().emplace_back(kForeground);
    }
    metadata["deletionTimestamp"] = format_time(core_.now() + Duration::seconds(grace));
    metadata["deletionGracePeriodSeconds"] = grace;
    return true;
  });
}

void Collector::expire_events() {
  if (core_.options.event_ttl.ns <= 0) return;
  core_.background.run([this] {
    const Instant oldest = core_.now() - core_.options.event_ttl;
    for (const auto& [key, stored] : core_.store->snapshot("/events", "").items) {
      std::string when = scan_string(stored->bytes, {"series", "lastObservedTime"});
      if (when.empty()) when = scan_string(stored->bytes, {"lastTimestamp"});
      if (when.empty()) when = scan_string(stored->bytes, {"metadata", "creationTimestamp"});
      const auto time = parse_time(when);
      if (time.ok() && *time < oldest)
        (void)core_.store->remove("/events", key, stored->revision, {});
    }
  });
}

}  // namespace kueue::apiserver
