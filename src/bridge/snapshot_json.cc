#include "bridge/snapshot_json.h"

#include <map>
#include <type_traits>

#include "bridge/snapshot_fields.h"

namespace kueue::bridge {
namespace {

using namespace engine;

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsVector<SlimVector<T>> : std::true_type {};
template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <typename T>
struct IsOptional<Boxed<T>> : std::true_type {};
template <typename T>
constexpr bool kIsText =
    std::is_same_v<T, std::string> || std::is_same_v<T, Text> || std::is_same_v<T, Uid>;
template <typename T>
struct IsPair : std::false_type {};
template <typename A, typename B>
struct IsPair<std::pair<A, B>> : std::true_type {};

std::string nanos_text(Nanos n) {
  if (n == 0) return "0";
  std::string out;
  bool negative = n < 0;
  for (; n != 0; n /= 10) {
    int digit = static_cast<int>(n % 10);
    out.insert(out.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
  }
  return negative ? "-" + out : out;
}

// Pod templates are written once each and named by their position.
struct Templates {
  std::vector<std::shared_ptr<const PodTemplate>> list;
  std::map<const PodTemplate*, int64_t> positions;
};

class Writer {
 public:
  explicit Writer(Templates& templates) : templates_(templates) {}

  template <typename T>
  json::Value value(const T& v) {
    if constexpr (std::is_same_v<T, bool>) {
      return json::Value(v);
    } else if constexpr (std::is_enum_v<T>) {
      return json::Value(static_cast<int64_t>(v));
    } else if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
      return json::Value(v);
    } else if constexpr (std::is_same_v<T, std::string>) {
      return json::Value(v);
    } else if constexpr (std::is_same_v<T, Text> || std::is_same_v<T, Uid>) {
      return json::Value(v.str());
    } else if constexpr (std::is_same_v<T, Amount>) {
      return json::Value(v.value());
    } else if constexpr (std::is_same_v<T, Instant> || std::is_same_v<T, Duration>) {
      return json::Value(v.ns);
    } else if constexpr (std::is_same_v<T, Nanos>) {
      return json::Value(nanos_text(v));
    } else if constexpr (std::is_same_v<T, FeatureGates>) {
      return json::Value(v.non_default());
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const PodTemplate>>) {
      auto [it, added] =
          templates_.positions.try_emplace(v.get(), static_cast<int64_t>(templates_.list.size()));
      if (added) templates_.list.push_back(v);
      return json::Value(it->second);
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const TopologyAssignment>>) {
      return v ? value(*v) : json::Value();
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const Workload>>) {
      return value(*v);
    } else if constexpr (IsVector<T>::value) {
      json::Array out;
      for (const auto& item : v) out.push_back(value(item));
      return json::Value(std::move(out));
    } else if constexpr (IsOptional<T>::value) {
      return v ? value(*v) : json::Value();
    } else if constexpr (IsPair<T>::value) {
      json::Array out;
      out.push_back(value(v.first));
      out.push_back(value(v.second));
      return json::Value(std::move(out));
    } else {
      json::Value out = json::Value::object();
      auto visit = [&](const char* name, auto& member) {
        using M = std::remove_cvref_t<decltype(member)>;
        json::Value written = value(static_cast<const M&>(member));
        if (written.is_null()) return;
        if constexpr (IsVector<M>::value)
          if (member.empty()) return;
        out[name] = std::move(written);
      };
      fields(visit, const_cast<T&>(v));  // NOLINT: visited, not changed
      return out;
    }
  }

 private:
  Templates& templates_;
};

class Reader {
 public:
  explicit Reader(const Templates& templates) : templates_(templates) {}
  const std::string& error() const { return error_; }

  template <typename T>
  void read(const json::Value& in, T& v, const std::string& path) {
    if (!error_.empty()) return;
    if constexpr (std::is_same_v<T, bool>) {
      if (!in.is_bool()) return fail(path, "a boolean");
      v = in.as_bool();
    } else if constexpr (std::is_enum_v<T>) {
      int64_t n = in.int_or(-1);
      if (n < 0 || n > last_of(T())) return fail(path, "one of its values");
      v = static_cast<T>(n);
    } else if constexpr (std::is_same_v<T, double>) {
      if (!in.is_number()) return fail(path, "a number");
      v = in.as_double();
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      if (!in.is_number()) return fail(path, "a number");
      v = in.type() == json::Type::kUint ? in.as_uint() : static_cast<uint64_t>(in.as_int());
    } else if constexpr (std::is_integral_v<T>) {
      if (in.type() != json::Type::kInt || static_cast<T>(in.as_int()) != in.as_int())
        return fail(path, "a number in range");
      v = static_cast<T>(in.as_int());
    } else if constexpr (kIsText<T>) {
      if (!in.is_string()) return fail(path, "a text");
      v = in.as_string();
    } else if constexpr (std::is_same_v<T, Amount>) {
      int64_t n = 0;
      read(in, n, path);
      v = Amount(n);
    } else if constexpr (std::is_same_v<T, Instant> || std::is_same_v<T, Duration>) {
      read(in, v.ns, path);
    } else if constexpr (std::is_same_v<T, Nanos>) {
      read_nanos(in, v, path);
    } else if constexpr (std::is_same_v<T, FeatureGates>) {
      if (!in.is_string()) return fail(path, "feature gates");
      if (Result<void> parsed = v.parse(in.as_string()); !parsed.ok())
        error_ = path + ": " + parsed.error().message;
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const PodTemplate>>) {
      int64_t n = in.int_or(-1);
      if (n < 0 || n >= static_cast<int64_t>(templates_.list.size()))
        return fail(path, "the position of a template");
      v = templates_.list[static_cast<size_t>(n)];
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const TopologyAssignment>> ||
                         std::is_same_v<T, std::shared_ptr<const Workload>>) {
      auto made = std::make_shared<std::remove_const_t<typename T::element_type>>();
      read(in, *made, path);
      v = std::move(made);
    } else if constexpr (IsVector<T>::value) {
      if (!in.is_array()) return fail(path, "a list");
      v.clear();
      for (size_t i = 0; i < in.as_array().size(); ++i)
        read(in.as_array()[i], v.emplace_back(), path + "[" + std::to_string(i) + "]");
    } else if constexpr (IsOptional<T>::value) {
      read(in, v.emplace(), path);
    } else if constexpr (IsPair<T>::value) {
      if (!in.is_array() || in.as_array().size() != 2) return fail(path, "a pair");
      read(in.as_array()[0], v.first, path + "[0]");
      read(in.as_array()[1], v.second, path + "[1]");
    } else {
      if (!in.is_object()) return fail(path, "an object");
      auto visit = [&](const char* name, auto& member) {
        if (const json::Value* given = in.find(name); given != nullptr && !given->is_null())
          read(*given, member, path + "." + name);
      };
      fields(visit, v);
    }
  }
  void fail(const std::string& path, const char* what) {
    if (error_.empty()) error_ = path + ": must be " + what;
  }

 private:
  void read_nanos(const json::Value& in, Nanos& v, const std::string& path) {
    if (!in.is_string() || in.as_string().empty() || in.as_string().size() > 38)
      return fail(path, "a number as text");
    const std::string& text = in.as_string();
    bool negative = text[0] == '-';
    v = 0;
    for (size_t i = negative ? 1 : 0; i < text.size(); ++i) {
      if (text[i] < '0' || text[i] > '9') return fail(path, "a number as text");
      v = v * 10 + (text[i] - '0');
    }
    if (negative) v = -v;
  }

  const Templates& templates_;
  std::string error_;
};

// What restoring relies on.
std::string incoherence(const Snapshot& s) {
  for (size_t i = 0; i < s.workloads.size(); ++i) {
    std::string path = "state.workloads[" + std::to_string(i) + "]";
    const std::shared_ptr<const Workload>& w = s.workloads[i].object;
    if (!w) return path + ".object: must be there";
    for (const PodSet& ps : w->pod_sets)
      if (!ps.pod) return path + ".object.podSets: each must name its template";
    if (i > 0 && !(s.workloads[i - 1].object->key < w->key))
      return path + ".object.key: workloads must be sorted, each once";
  }
  return "";
}

}  // namespace

json::Value dump(const Snapshot& snapshot, const CycleInput& input) {
  Templates templates;
  Writer writer(templates);
  json::Value state = writer.value(snapshot);
  json::Array list;
  for (size_t i = 0; i < templates.list.size(); ++i)
    list.push_back(writer.value(*templates.list[i]));
  return json::Value::object(
      {{"format", kDumpFormat},
       {"cycle", json::Value::object({{"now", input.now.ns}, {"everyHead", input.every_head}})},
       {"templates", std::move(list)},
       {"state", std::move(state)}});
}

Result<Dump> read_dump(const json::Value& document) {
  if (!document.is_object() || document.get_string({"format"}) != kDumpFormat)
    return make_error(ErrorCode::kInvalid, std::string("format: must be \"") + kDumpFormat + "\"");
  const json::Value* state = document.find("state");
  if (state == nullptr) return make_error(ErrorCode::kInvalid, "state: must be there");
  Templates templates;
  Reader first(templates);
  std::vector<PodTemplate> pods;
  if (const json::Value* list = document.find("templates")) first.read(*list, pods, "templates");
  for (PodTemplate& pod : pods)
    templates.list.push_back(std::make_shared<const PodTemplate>(std::move(pod)));
  Dump out;
  Reader reader(templates);
  reader.read(*state, out.snapshot, "state");
  if (const json::Value* now = document.find_path({"cycle", "now"}))
    reader.read(*now, out.input.now, "cycle.now");
  out.input.every_head = document.get_bool({"cycle", "everyHead"});
  std::string error = first.error().empty() ? reader.error() : first.error();
  if (error.empty()) error = incoherence(out.snapshot);
  if (!error.empty()) return make_error(ErrorCode::kInvalid, error);
  return out;
}

}  // namespace kueue::bridge
