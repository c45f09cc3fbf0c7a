// Label selectors (equality and set based, text and LabelSelector object) and field selectors.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace kueue::wire {

using LabelMap = std::map<std::string, std::string, std::less<>>;

// "[prefix/]name" and value as Kubernetes allows them for labels.
bool valid_label_key(std::string_view text);
bool valid_label_value(std::string_view text);

class LabelSelector {
 public:
  enum class Op : uint8_t { kIn, kNotIn, kExists, kNotExists, kGreater, kLess };
  struct Requirement {
    std::string key;
    Op op = Op::kExists;
    std::vector<std::string> values;  // sorted
    bool operator==(const Requirement&) const = default;
  };

  // Matches everything.
  LabelSelector() = default;
  static LabelSelector nothing();
  // "a=b,c!=d,e in (x,y),f notin (z),g,!h,i>3". Keys and values are validated.
  static Result<LabelSelector> parse(std::string_view text);
  // A LabelSelector object; null matches nothing, {} everything, as LabelSelectorAsSelector does.
  // `path` prefixes errors.
  static Result<LabelSelector> from_object(const json::Value* object, std::string_view path = "");

  bool matches(const LabelMap& labels) const;
  // Looks labels up one by one: nullptr = absent.
  bool matches(const std::function<const std::string*(std::string_view)>& lookup) const;
  bool empty() const { return !nothing_ && requirements_.empty(); }
  const std::vector<Requirement>& requirements() const { return requirements_; }
  std::string to_string() const;
  bool operator==(const LabelSelector&) const = default;

 private:
  std::vector<Requirement> requirements_;
  bool nothing_ = false;
};

class FieldSelector {
 public:
  struct Term {
    std::string path;  // "metadata.name"
    std::string value;
    bool equal = true;
  };
  static Result<FieldSelector> parse(
      std::string_view text);  // "a=b,c==d,e!=f", with \, \= \\ escapes
  const std::vector<Term>& terms() const { return terms_; }
  bool empty() const { return terms_.empty(); }
  // `lookup` yields the field's text, "" when absent.
  bool matches(const std::function<std::string(std::string_view path)>& lookup) const;

 private:
  std::vector<Term> terms_;
};

}  // namespace kueue::wire
