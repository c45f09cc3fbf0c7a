// Types of plain values without limits, shared by all tables, so that equal types have one address.
#pragma once

#include "schema/type.h"

namespace kueue::schema {

inline constexpr Type kAnyType{.kind = Kind::kAny};
inline constexpr Type kBoolType{.kind = Kind::kBool};
inline constexpr Type kInt32Type{.kind = Kind::kInt32};
inline constexpr Type kInt64Type{.kind = Kind::kInt64};
inline constexpr Type kDoubleType{.kind = Kind::kDouble};
inline constexpr Type kStringType{.kind = Kind::kString};
inline constexpr Type kBytesType{.kind = Kind::kBytes};
inline constexpr Type kIntOrStringType{.kind = Kind::kIntOrString};
inline constexpr Type kQuantityType{.kind = Kind::kQuantity};
inline constexpr Type kTimeType{.kind = Kind::kTime};
inline constexpr Type kMicroTimeType{.kind = Kind::kMicroTime};
inline constexpr Type kDurationType{.kind = Kind::kDuration};
inline constexpr Type kStringMapType{.kind = Kind::kMap, .element = &kStringType};
inline constexpr Type kQuantityMapType{.kind = Kind::kMap, .element = &kQuantityType};

}  // namespace kueue::schema
