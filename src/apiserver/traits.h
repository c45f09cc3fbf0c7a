// Traits: what is particular to a built-in kind beyond its field table. Custom resources share one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/store.h"
#include "base/result.h"
#include "json/value.h"

namespace kueue::apiserver {

class Core;
struct Call;

using Causes = std::vector<ErrorCause>;

struct Traits {
  // metadata.generation is kept, and grows with changes outside of metadata and status.
  bool generation = false;
  // PUT without a resourceVersion replaces whatever is there.
  bool unconditional_update = true;
  // PUT makes the object when there is none.
  bool create_on_update = false;
  // Served by create only; nothing is stored.
  bool review = false;
  // deletecollection is not offered.
  bool no_delete_collection = false;
  // Rule for metadata.name.
  enum class Name : uint8_t {
    kSubdomain,
    kLabel,
    kLabel1035,
    kPathSegment
  } name = Name::kSubdomain;
  // Defaults that field tables cannot express; applied to whatever comes in, after those of the
  // table.
  void (*set_defaults)(json::Value& object) = nullptr;
  // On create, after defaults and metadata: sets what the server decides, resets what it does not
  // take from users.
  void (*prepare_create)(Call& call, json::Value& object) = nullptr;
  void (*prepare_update)(Call& call, json::Value& object, const json::Value& old) = nullptr;
  void (*validate)(const Call& call, const json::Value& object, Causes& causes) = nullptr;
  void (*validate_update)(const Call& call, const json::Value& object, const json::Value& old,
                          Causes& causes) = nullptr;
  void (*validate_status)(const Call& call, const json::Value& object, const json::Value& old,
                          Causes& causes) = nullptr;
};

const Traits& traits_of(std::string_view group, std::string_view plural);
const Traits& custom_traits();

}  // namespace kueue::apiserver
