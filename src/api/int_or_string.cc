// IntOrString in JSON: a number or a string.
#include "api/int_or_string.h"

#include <limits>

namespace kueue::api {

const schema::CustomOps kIntOrStringOps{
    .name = "intstr.IntOrString",
    .decode = [](const json::Value& value, void* object) -> std::string {
      auto& out = *static_cast<IntOrString*>(object);
      if (value.is_string()) {
        out = IntOrString(value.as_string());
        return "";
      }
      if (value.is_int() && value.as_int() >= std::numeric_limits<int32_t>::min() &&
          value.as_int() <= std::numeric_limits<int32_t>::max()) {
        out = IntOrString(static_cast<int32_t>(value.as_int()));
        return "";
      }
      return "must be a 32-bit integer or a string";
    },
    .encode = [](const void* object) -> json::Value {
      const auto& value = *static_cast<const IntOrString*>(object);
      return value.is_string() ? json::Value(value.text())
                               : json::Value(static_cast<int64_t>(value.number()));
    },
    .is_zero =
        [](const void* object) {
          const auto& value = *static_cast<const IntOrString*>(object);
          return !value.is_string() && value.number() == 0;
        },
};

}  // namespace kueue::api
