// The name syntaxes of Kubernetes, with its texts: what is wrong with a text as a name of a kind.
// An empty answer means that it is valid. Pure; thread safe; linear in the length of the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kueue {

// Lower case letters, digits and '-', letter or digit at both ends, at most 63 bytes.
std::vector<std::string> dns1123_label_problems(std::string_view text);
// DNS-1123 labels joined by dots, at most 253 bytes.
std::vector<std::string> dns1123_subdomain_problems(std::string_view text);
// Like a DNS-1123 label, but it starts with a letter.
std::vector<std::string> dns1035_label_problems(std::string_view text);
// "name" or "prefix/name": keys of labels, annotations, taints and resources.
std::vector<std::string> qualified_name_problems(std::string_view text);
// The value of a label; may be empty.
std::vector<std::string> label_value_problems(std::string_view text);

bool is_dns1123_label(std::string_view text);
bool is_dns1123_subdomain(std::string_view text);

}  // namespace kueue
