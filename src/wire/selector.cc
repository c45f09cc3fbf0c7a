#include "wire/selector.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <tuple>

namespace kueue::wire {
namespace {

using Op = LabelSelector::Op;

bool alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool name_part(std::string_view text) {
  if (text.empty() || text.size() > 63) return false;
  if (!alphanumeric(text.front()) || !alphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool dns_subdomain(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  char previous = '.';
  for (char c : text) {
    bool alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (c == '.' ? !(previous != '.' && previous != '-') : c == '-' ? previous == '.' : !alnum)
      return false;
    previous = c;
  }
  return previous != '.' && previous != '-';
}

bool label_key(std::string_view text) {
  size_t slash = text.find('/');
  if (slash == std::string_view::npos) return name_part(text);
  return dns_subdomain(text.substr(0, slash)) && name_part(text.substr(slash + 1));
}

bool label_value(std::string_view text) { return text.empty() || name_part(text); }

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

constexpr char kKeyRule[] =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr char kValueRule[] =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

std::optional<int64_t> integer(std::string_view text) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  int64_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

// What is wrong with a requirement: a message and the place inside it; nullopt when it is fine.
struct Fault {
  std::string place;
  std::string message;
};

std::optional<Fault> check(const LabelSelector::Requirement& r) {
  if (!label_key(r.key)) return Fault{"key", "Invalid value: " + quoted(r.key) + ": " + kKeyRule};
  switch (r.op) {
    case Op::kIn:
    case Op::kNotIn:
      if (r.values.empty()) {
        return Fault{"values",
                     "Invalid value: []: for 'in', 'notin' operators, values set can't be empty"};
      }
      break;
    case Op::kExists:
    case Op::kNotExists:
      if (!r.values.empty()) {
        return Fault{"values",
                     "Invalid value: values set must be empty for exists and does not exist"};
      }
      break;
    case Op::kGreater:
    case Op::kLess:
      if (r.values.size() != 1) {
        return Fault{"values",
                     "Invalid value: for 'Gt', 'Lt' operators, exactly one value is required"};
      }
      if (!integer(r.values[0])) {
        return Fault{"values[0]", "Invalid value: " + quoted(r.values[0]) +
                                      ": for 'Gt', 'Lt' operators, the value must be an integer"};
      }
      break;
  }
  for (size_t i = 0; i < r.values.size(); ++i) {
    if (!label_value(r.values[i])) {
      return Fault{"values[" + std::to_string(i) + "][" + r.key + "]",
                   "Invalid value: " + quoted(r.values[i]) + ": " + kValueRule};
    }
  }
  return std::nullopt;
}

bool requirement_matches(const LabelSelector::Requirement& r, const std::string* value) {
  auto listed = [&] { return std::binary_search(r.values.begin(), r.values.end(), *value); };
  switch (r.op) {
    case Op::kIn:
      return value && listed();
    case Op::kNotIn:
      return !value || !listed();
    case Op::kExists:
      return value != nullptr;
    case Op::kNotExists:
      return value == nullptr;
    case Op::kGreater:
    case Op::kLess: {
      if (!value) return false;
      auto have = integer(*value), want = integer(r.values[0]);
      if (!have || !want) return false;
      return r.op == Op::kGreater ? *have > *want : *have < *want;
    }
  }
  return false;
}

void canonicalize(std::vector<LabelSelector::Requirement>& requirements) {
  for (auto& r : requirements) {
    std::sort(r.values.begin(), r.values.end());
    r.values.erase(std::unique(r.values.begin(), r.values.end()), r.values.end());
  }
  std::sort(requirements.begin(), requirements.end(), [](const auto& x, const auto& y) {
    return std::tie(x.key, x.op, x.values) < std::tie(y.key, y.op, y.values);
  });
}

// The grammar of label selectors in text. Words are runs of anything that is neither blank nor one
// of =!(),<>.
class TextParser {
 public:
  explicit TextParser(std::string_view text) : rest_(text) {}

  Result<std::vector<LabelSelector::Requirement>> run() {
    std::vector<LabelSelector::Requirement> requirements;
    skip_space();
    while (!rest_.empty()) {
      LabelSelector::Requirement r;
      if (!requirement(r))
        return make_error(ErrorCode::kBadRequest, "unable to parse requirement: " + error_);
      if (auto fault = check(r)) {
        return make_error(ErrorCode::kBadRequest,
                          "unable to parse requirement: " + fault->place + ": " + fault->message);
      }
      requirements.push_back(std::move(r));
      if (rest_.empty()) break;
      if (!take(",")) return refuse("',' or 'end of string'");
      if (rest_.empty()) return refuse("identifier after ','");
    }
    return requirements;
  }

 private:
  static bool special(char c) {
    return std::string_view("=!(),<>").find(c) != std::string_view::npos;
  }
  static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

  void skip_space() {
    while (!rest_.empty() && blank(rest_.front())) rest_.remove_prefix(1);
  }

  std::string_view peek_word() const {
    size_t n = 0;
    while (n < rest_.size() && !special(rest_[n]) && !blank(rest_[n])) ++n;
    return rest_.substr(0, n);
  }

  std::string word() {
    std::string_view w = peek_word();
    rest_.remove_prefix(w.size());
    skip_space();
    return std::string(w);
  }

  bool take(std::string_view symbol) {
    if (!rest_.starts_with(symbol)) return false;
    rest_.remove_prefix(symbol.size());
    skip_space();
    return true;
  }

  Error refuse(const std::string& expected) {
    expect(expected);
    return make_error(ErrorCode::kBadRequest, error_);
  }

  bool expect(const std::string& expected) {
    std::string_view found = rest_.empty()         ? rest_
                             : peek_word().empty() ? rest_.substr(0, 1)
                                                   : peek_word();
    error_ = "found '" + std::string(found) + "', expected: " + expected;
    return false;
  }

  bool requirement(LabelSelector::Requirement& r) {
    bool absent = take("!");
    r.key = word();
    if (r.key.empty()) return expect("identifier");
    if (absent || rest_.empty() || rest_.front() == ',') {
      r.op = absent ? Op::kNotExists : Op::kExists;
      return true;
    }
    if (take("!=")) {
      r.op = Op::kNotIn;
    } else if (take("==") || take("=")) {
      r.op = Op::kIn;
    } else if (take(">")) {
      r.op = Op::kGreater;
    } else if (take("<")) {
      r.op = Op::kLess;
    } else if (peek_word() == "in" || peek_word() == "notin") {
      r.op = word() == "in" ? Op::kIn : Op::kNotIn;
      return set(r.values);
    } else {
      return expect("in, notin, =, ==, !=, gt, lt");
    }
    if (!rest_.empty() && rest_.front() != ',' && peek_word().empty()) return expect("identifier");
    r.values.push_back(word());
    return true;
  }

  bool set(std::vector<std::string>& values) {
    if (!take("(")) return expect("'('");
    for (;;) {
      values.push_back(word());
      if (take(")")) return true;
      if (!take(",")) return expect("',', or ')'");
    }
  }

  std::string_view rest_;
  std::string error_;
};

std::string join(std::string_view path, std::string_view field) {
  if (path.empty()) return std::string(field);
  return std::string(path) + "." + std::string(field);
}

Error invalid_at(std::string field, std::string message, std::string reason = "FieldValueInvalid") {
  Error error = make_error(ErrorCode::kInvalid, field + ": " + message);
  error.causes.push_back({std::move(reason), std::move(message), std::move(field)});
  return error;
}

Result<LabelSelector::Requirement> expression(const json::Value& item, const std::string& path) {
  LabelSelector::Requirement r;
  if (!item.is_object()) return invalid_at(path, "Invalid value: must be an object");
  r.key = item.get_string({"key"});
  std::string_view op = item.get_string({"operator"});
  if (op == "In") {
    r.op = Op::kIn;
  } else if (op == "NotIn") {
    r.op = Op::kNotIn;
  } else if (op == "Exists") {
    r.op = Op::kExists;
  } else if (op == "DoesNotExist") {
    r.op = Op::kNotExists;
  } else {
    return invalid_at(path + ".operator",
                      "Invalid value: " + quoted(op) + ": not a valid selector operator");
  }
  const json::Value* values = item.find("values");
  if (values && !values->is_null()) {
    if (!values->is_array())
      return invalid_at(path + ".values", "Invalid value: must be a list of strings");
    for (const json::Value& v : values->as_array()) {
      if (!v.is_string())
        return invalid_at(path + ".values", "Invalid value: must be a list of strings");
      r.values.push_back(v.as_string());
    }
  }
  if (auto fault = check(r)) return invalid_at(path + "." + fault->place, fault->message);
  return r;
}

}  // namespace

bool valid_label_key(std::string_view text) { return label_key(text); }
bool valid_label_value(std::string_view text) { return label_value(text); }

LabelSelector LabelSelector::nothing() {
  LabelSelector s;
  s.nothing_ = true;
  return s;
}

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  LabelSelector s;
  KUEUE_ASSIGN(s.requirements_, TextParser(text).run());
  canonicalize(s.requirements_);
  return s;
}

Result<LabelSelector> LabelSelector::from_object(const json::Value* object, std::string_view path) {
  if (!object || object->is_null()) return nothing();
  if (!object->is_object())
    return invalid_at(std::string(path), "Invalid value: must be an object");
  LabelSelector s;
  const json::Value* labels = object->find("matchLabels");
  if (labels && !labels->is_null()) {
    std::string at = join(path, "matchLabels");
    if (!labels->is_object()) return invalid_at(at, "Invalid value: must be an object");
    for (const auto& [key, value] : labels->as_object()) {
      if (!value.is_string())
        return invalid_at(at + "[" + key + "]", "Invalid value: must be a string");
      Requirement r{.key = key, .op = Op::kIn, .values = {value.as_string()}};
      if (auto fault = check(r)) return invalid_at(at, fault->message);
      s.requirements_.push_back(std::move(r));
    }
  }
  const json::Value* expressions = object->find("matchExpressions");
  if (expressions && !expressions->is_null()) {
    std::string at = join(path, "matchExpressions");
    if (!expressions->is_array()) return invalid_at(at, "Invalid value: must be a list");
    const json::Array& items = expressions->as_array();
    for (size_t i = 0; i < items.size(); ++i) {
      KUEUE_ASSIGN(Requirement r, expression(items[i], at + "[" + std::to_string(i) + "]"));
      s.requirements_.push_back(std::move(r));
    }
  }
  canonicalize(s.requirements_);
  return s;
}

bool LabelSelector::matches(const LabelMap& labels) const {
  return matches([&](std::string_view key) {
    auto label = labels.find(key);
    return label == labels.end() ? nullptr : &label->second;
  });
}

bool LabelSelector::matches(
    const std::function<const std::string*(std::string_view)>& lookup) const {
  if (nothing_) return false;
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const Requirement& r) { return requirement_matches(r, lookup(r.key)); });
}

std::string LabelSelector::to_string() const {
  std::string out;
  for (const Requirement& r : requirements_) {
    if (!out.empty()) out += ',';
    switch (r.op) {
      case Op::kExists:
        out += r.key;
        continue;
      case Op::kNotExists:
        out += "!" + r.key;
        continue;
      case Op::kGreater:
        out += r.key + ">" + r.values[0];
        continue;
      case Op::kLess:
        out += r.key + "<" + r.values[0];
        continue;
      case Op::kIn:
      case Op::kNotIn:
        break;
    }
    bool in = r.op == Op::kIn;
    if (r.values.size() == 1) {
      out += r.key + (in ? "=" : "!=") + r.values[0];
      continue;
    }
    out += r.key + (in ? " in (" : " notin (");
    for (size_t i = 0; i < r.values.size(); ++i) out += (i ? "," : "") + r.values[i];
    out += ')';
  }
  return out;
}

Result<FieldSelector> FieldSelector::parse(std::string_view text) {
  auto refuse = [&](std::string_view term) {
    return make_error(ErrorCode::kBadRequest, "invalid selector: '" + std::string(text) +
                                                  "'; can't understand '" + std::string(term) +
                                                  "'");
  };
  FieldSelector s;
  while (!text.empty()) {
    size_t end = 0;
    while (end < text.size() && text[end] != ',') end += text[end] == '\\' ? 2u : 1u;
    end = std::min(end, text.size());
    std::string_view term = text.substr(0, end);
    if (!term.empty()) {
      size_t op = term.find('=');
      if (op == std::string_view::npos || op == 0) return refuse(term);
      Term t;
      t.equal = term[op - 1] != '!';
      t.path = term.substr(0, t.equal ? op : op - 1);
      std::string_view value = term.substr(op + 1);
      if (t.equal && value.starts_with('=')) value.remove_prefix(1);
      for (size_t i = 0; i < value.size(); ++i) {
        if (value[i] == '=') return refuse(term);
        if (value[i] == '\\') {
          ++i;
          if (i == value.size() || (value[i] != '\\' && value[i] != ',' && value[i] != '='))
            return refuse(term);
        }
        t.value += value[i];
      }
      if (t.path.empty()) return refuse(term);
      s.terms_.push_back(std::move(t));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return s;
}

bool FieldSelector::matches(const std::function<std::string(std::string_view path)>& lookup) const {
  return std::all_of(terms_.begin(), terms_.end(),
                     [&](const Term& t) { return (lookup(t.path) == t.value) == t.equal; });
}

}  // namespace kueue::wire
