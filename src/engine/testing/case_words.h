// Small words of case lines.
#pragma once

#include <string>
#include <vector>

#include "engine/model/pod.h"

namespace kueue::engine::testing {

std::vector<std::string> split(const std::string& text, char by);
// "host" is short for the host name label.
std::string label_key(const std::string& text);
// KEY:VALUE, KEY:Op or KEY:Op:V1,V2.
LabelRequirement requirement_of(const std::string& text);
// KEY (Exists), KEY:VALUE, KEY:VALUE:Effect, KEY::Effect; * = every key.
Toleration toleration_of(const std::string& text);

}  // namespace kueue::engine::testing
