// CustomResourceDefinitions: their check, and from their schemas the Types that all algorithms work
// on. A definition that validate_crd accepts always builds. Pure; thread safe; what is built is
// immutable.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "schema/path.h"
#include "schema/type.h"

namespace kueue::schema {

// The Types of one schema and all they point to. Types of properties are unnamed (OpenAPI shows
// them in place); the root is named "com.example.v1.CronTab".
class DynamicSchema {
 public:
  struct Storage;

  // `schema` is the openAPIV3Schema. The root gets apiVersion, kind and metadata, the latter of the
  // Type object_meta, with the limits the schema sets on metadata.name and generateName. Keywords
  // that structural schemas do not allow are ignored. Throws nothing and fails never: check first
  // with validate_crd.
  static std::shared_ptr<const DynamicSchema> build(const json::Value& schema, TypeRef object_meta,
                                                    std::string_view group,
                                                    std::string_view version,
                                                    std::string_view kind);
  ~DynamicSchema();
  DynamicSchema(const DynamicSchema&) = delete;
  DynamicSchema& operator=(const DynamicSchema&) = delete;

  const Type& root() const { return *root_; }

 private:
  DynamicSchema();
  std::unique_ptr<Storage> storage_;
  const Type* root_ = nullptr;
};

// One version of a definition, ready to be served.
struct CrdVersion {
  ResourceInfo resource;  // points into the Crd
  bool served = false;
  bool storage = false;
  // "" = not deprecated, else the text of the warning each request of this version gets.
  std::string deprecation_warning;
};

// A definition with everything its versions point to.
class Crd {
 public:
  struct Storage;

  // From a whole CustomResourceDefinition object. kInvalid when names, group or versions are
  // missing; object_meta as in DynamicSchema. Defaults of the definition (singular, listKind,
  // conversion) need not have been applied.
  static Result<std::shared_ptr<const Crd>> build(const json::Value& definition,
                                                  TypeRef object_meta);
  ~Crd();
  Crd(const Crd&) = delete;
  Crd& operator=(const Crd&) = delete;

  const std::vector<CrdVersion>& versions() const { return versions_; }
  // nullptr when there is no such version.
  const CrdVersion* version(std::string_view name) const;
  // CHECKs nothing: nullptr when no version is marked.
  const CrdVersion* storage_version() const;

 private:
  Crd();
  std::unique_ptr<Storage> storage_;
  std::vector<CrdVersion> versions_;
};

// Judges one CEL rule where it stands: appends causes at `at` (the path of the rule's entry) when
// it does not compile. Implemented over cel/.
using RuleCheck = std::function<void(const Type& type, const Rule& rule, const Path& at,
                                     std::vector<ErrorCause>& errors)>;

struct CrdCheckOptions {
  TypeRef object_meta = {};
  // Empty: rules are only checked for their form.
  RuleCheck check_rule = {};
  // When set, receives warnings (`unrecognized format "foo"`).
  std::vector<std::string>* warnings = nullptr;
};

// All that kube-apiserver has against a definition, in its words: names, versions, structural
// schemas, defaults that do not validate, list types, printer columns, subresources, selectable
// fields, conversion. Empty when it is accepted. The JSON types of the definition must fit
// (check_types). metadata beyond the name is the caller's.
std::vector<ErrorCause> validate_crd(const json::Value& definition,
                                     const CrdCheckOptions& options = {});

// The schema part alone, paths beginning with `at`.
std::vector<ErrorCause> validate_structural(const json::Value& schema, const Path& at,
                                            const CrdCheckOptions& options = {});

}  // namespace kueue::schema
