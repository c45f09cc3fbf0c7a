// Reads single values out of compact JSON text that the server wrote itself, without parsing it:
// selectors, owners and versions of 10,000 stored objects are looked at in a few milliseconds. Text
// from outside never comes here. Pure.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace kueue::apiserver {

// Whether the text is one JSON value without white space, as the server writes it. Strings are not
// looked into beyond their end. For text that comes back from a disk. Linear.
bool well_formed(std::string_view text);

// The raw text of the member at the path, quotes included; empty when absent or when a step is no
// object.
std::string_view scan_path(std::string_view document, std::initializer_list<std::string_view> path);
// The same with the path as dotted text ("metadata.labels").
std::string_view scan_dotted(std::string_view document, std::string_view path);

// The unescaped content of a raw string; other raw values as they are ("null" and absent give "").
std::string scan_text(std::string_view raw);
// scan_text of scan_path.
std::string scan_string(std::string_view document, std::initializer_list<std::string_view> path);

// Walks the members of an object or the elements of an array: `for (Members m(raw); m.next();)`.
class Members {
 public:
  explicit Members(std::string_view raw);
  bool next();
  std::string_view key() const { return key_; }      // without quotes, still escaped; "" in arrays
  std::string_view value() const { return value_; }  // raw

 private:
  std::string_view text_;
  size_t position_ = 0;
  bool object_ = false;
  std::string_view key_;
  std::string_view value_;
};

}  // namespace kueue::apiserver
