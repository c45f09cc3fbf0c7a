#include "schema/prune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "schema/errors.h"
#include "schema/path.h"
#include "schema/walk.h"

namespace kueue::schema {
namespace {

// One walk for both jobs: Doc is `json::Value` when pruning and `const json::Value` when only
// looking.
template <typename Doc>
class Walker {
 public:
  Walker(std::vector<std::string>& found, size_t max_reported)
      : found_(found), max_reported_(max_reported) {}

  void walk(const Type& type, Doc& value, const Path& path, int depth) {
    if (depth > kMaxDepth) return;
    switch (type.kind) {
      case Kind::kStruct:
        if (value.is_object()) walk_struct(type, value, path, depth);
        return;
      case Kind::kMap:
        if (!value.is_object() || !type.element) return;
        if (!has_structure(*type.element)) return;
        for (auto& [key, item] : value.as_object())
          walk(*type.element, item, path.child(key), depth + 1);
        return;
      case Kind::kList:
        if (!value.is_array() || !type.element) return;
        if (!has_structure(*type.element)) return;
        walk_list(*type.element, value, path, depth);
        return;
      case Kind::kAny:
      case Kind::kBool:
      case Kind::kInt32:
      case Kind::kInt64:
      case Kind::kDouble:
      case Kind::kString:
      case Kind::kBytes:
      case Kind::kIntOrString:
      case Kind::kQuantity:
      case Kind::kTime:
      case Kind::kMicroTime:
      case Kind::kDuration:
        return;
    }
  }

 private:
  static bool has_structure(const Type& type) {
    return type.kind == Kind::kStruct || type.kind == Kind::kMap || type.kind == Kind::kList;
  }

  void walk_list(const Type& element, Doc& value, const Path& path, int depth) {
    size_t i = 0;
    for (auto& item : value.as_array()) walk(element, item, path.index(i++), depth + 1);
  }

  void walk_struct(const Type& type, Doc& value, const Path& path, int depth) {
    FieldCursor cursor(type);
    std::vector<std::string> unknown;
    for (auto& [key, member] : value.as_object()) {
      const Path at = path.child(key);
      if (const Field* field = cursor.find(key)) {
        const Type& field_type = *field->type;
        if (has_structure(field_type)) walk(field_type, member, at, depth + 1);
      } else if (!type.preserve_unknown) {
        if (found_.size() < max_reported_) found_.push_back(at.str());
        if constexpr (!std::is_const_v<Doc>) unknown.push_back(key);
      }
    }
    if constexpr (!std::is_const_v<Doc>) {
      value.as_object().erase_keys(std::move(unknown));
    }
  }

  std::vector<std::string>& found_;
  size_t max_reported_;
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Number of single-character edits and swaps between neighbours (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

// Kubernetes' decoder tells unknown fields of its own kinds as it meets them; for custom resources
// those of the metadata come first, the others sorted.
void order(const Type& type, std::vector<std::string>& found) {
  if (type.name.starts_with("io.k8s.")) return;
  std::vector<std::string> rest;
  std::vector<std::string> metadata;
  for (std::string& path : found)
    (path.starts_with("metadata.") ? metadata : rest).push_back(std::move(path));
  std::sort(rest.begin(), rest.end());
  found = std::move(metadata);
  std::move(rest.begin(), rest.end(), std::back_inserter(found));
}

}  // namespace

std::vector<std::string> prune(const Type& type, json::Value& document, size_t max_reported) {
  std::vector<std::string> found;
  Walker<json::Value>(found, max_reported).walk(type, document, Path(), 0);
  order(type, found);
  return found;
}

std::vector<std::string> find_unknown(const Type& type, const json::Value& document,
                                      size_t max_reported) {
  std::vector<std::string> found;
  Walker<const json::Value>(found, max_reported).walk(type, document, Path(), 0);
  order(type, found);
  return found;
}

std::vector<std::string> strict_messages(const std::vector<std::string>& duplicates,
                                         const std::vector<std::string>& unknown) {
  std::vector<std::string> out;
  out.reserve(duplicates.size() + unknown.size());
  for (const std::string& path : duplicates) out.push_back("duplicate field " + go_quote(path));
  for (const std::string& path : unknown) out.push_back("unknown field " + go_quote(path));
  return out;
}

Error strict_error(std::string_view kind, std::string_view version,
                   const std::vector<std::string>& messages) {
  return make_error(ErrorCode::kBadRequest,
                    fmt::format("{} in version \"{}\" cannot be handled as a {}: strict decoding "
                                "error: {}",
                                kind, version, kind, fmt::join(messages, ", ")));
}

std::string_view did_you_mean(std::string_view name, std::span<const std::string_view> known) {
  if (name.empty() || name.size() > 100) return {};
  const std::string wanted = lower(name);
  std::string_view best;
  size_t best_distance = std::min<size_t>(2, (name.size() + 1) / 3) + 1;
  for (std::string_view candidate : known) {
    if (candidate.size() > 100) continue;
    const size_t distance = edit_distance(wanted, lower(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string_view did_you_mean(std::string_view name, const Type& type) {
  std::vector<std::string_view> names;
  names.reserve(type.fields.size());
  for (const Field& field : type.fields) names.push_back(field.name);
  return did_you_mean(name, names);
}

std::string explain_unknown(const Type& type, std::string_view path) {
  std::string text = "unknown field " + go_quote(path);
  const Type* at = &type;
  std::string_view rest = path;
  while (true) {
    while (at->kind == Kind::kList && at->element && rest.starts_with('[')) {
      const size_t close = rest.find(']');
      if (close == std::string_view::npos) return text;
      rest.remove_prefix(close + 1);
      at = &*at->element;
    }
    if (rest.starts_with('.')) rest.remove_prefix(1);
    const size_t end = std::min(rest.find_first_of(".["), rest.size());
    const std::string_view name = rest.substr(0, end);
    rest.remove_prefix(end);
    if (at->kind == Kind::kMap && at->element && !name.empty()) {
      at = &*at->element;
      continue;
    }
    const Field* field = at->field(name);
    if (field == nullptr) {
      const std::string_view meant = did_you_mean(name, *at);
      if (!meant.empty()) text += fmt::format(", did you mean {}?", go_quote(meant));
      return text;
    }
    at = &*field->type;
    if (rest.empty()) return text;
  }
}

}  // namespace kueue::schema
