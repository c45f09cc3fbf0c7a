// Jobs, CronJobs, Deployments and their like.
#include <algorithm>

#include "apiserver/core.h"
#include "apiserver/kinds.h"
#include "apiserver/names.h"
#include "apiserver/pod_defaults.h"
#include "wire/selector.h"

namespace kueue::apiserver::kinds {

namespace {

constexpr int64_t kMaxInt32 = 2147483647;
constexpr int64_t kMaxIndexedParallelism = 100000;

json::Value* spec_of(json::Value& object) {
  json::Value* spec = object.find("spec");
  return spec != nullptr && spec->is_object() ? spec : nullptr;
}

void default_template(json::Value& spec) {
  json::Value& pod_template = spec["template"];
  if (pod_template.is_null()) pod_template = json::Value::object();
  if (!pod_template.is_object()) return;
  json::Value& inner = pod_template["spec"];
  if (inner.is_null()) inner = json::Value::object();
  default_pod_spec(inner);
}

bool selector_matches(const json::Value* selector, const json::Value* labels) {
  const auto parsed = wire::LabelSelector::from_object(selector);
  if (!parsed.ok()) return false;
  wire::LabelMap map;
  if (labels != nullptr && labels->is_object())
    for (const auto& [key, value] : labels->as_object()) map.emplace(key, value.string_or(""));
  return parsed->matches(map);
}

void default_job_spec(json::Value& spec) {
  if (spec.find("completions") == nullptr && spec.find("parallelism") == nullptr)
    spec["completions"] = 1;
  set_default(spec, "parallelism", 1);
  set_default(
      spec, "backoffLimit",
      spec.find("backoffLimitPerIndex") != nullptr ? json::Value(kMaxInt32) : json::Value(6));
  set_default(spec, "completionMode", "NonIndexed");
  set_default(spec, "suspend", false);
  set_default(spec, "manualSelector", false);
  const bool policy = spec.find("podFailurePolicy") != nullptr;
  set_default(spec, "podReplacementPolicy", policy ? "Failed" : "TerminatingOrFailed");
  if (json::Value* rules = spec.find_path({"podFailurePolicy", "rules"});
      rules && rules->is_array())
    for (json::Value& rule : rules->as_array()) {
      json::Value* patterns = rule.find("onPodConditions");
      if (patterns == nullptr || !patterns->is_array()) continue;
      for (json::Value& pattern : patterns->as_array())
        if (pattern.is_object()) set_default(pattern, "status", "True");
    }
  default_template(spec);
}

}  // namespace

void job_defaults(json::Value& object) {
  if (json::Value* spec = spec_of(object)) default_job_spec(*spec);
}

void job_create(Call& call, json::Value& object) {
  (void)call;
  json::Value& spec = object["spec"];
  if (!spec.is_object()) return;
  const std::string uid(object.get_string({"metadata", "uid"}));
  const std::string name(object.get_string({"metadata", "name"}));
  if (!spec.get_bool({"manualSelector"})) {
    json::Value& labels = spec["template"]["metadata"]["labels"];
    if (labels.is_null()) labels = json::Value::object();
    labels["batch.kubernetes.io/controller-uid"] = uid;
    labels["batch.kubernetes.io/job-name"] = name;
    labels["controller-uid"] = uid;
    labels["job-name"] = name;
    json::Value& selector = spec["selector"]["matchLabels"];
    if (selector.is_null()) selector = json::Value::object();
    selector["batch.kubernetes.io/controller-uid"] = uid;
  }
  // A Job without labels shows those of its template.
  const json::Value* labels = spec.find_path({"template", "metadata", "labels"});
  json::Value& own = object["metadata"]["labels"];
  if (labels != nullptr && (own.is_null() || (own.is_object() && own.as_object().empty())))
    own = *labels;
  if (own.is_null()) object.erase_path({"metadata", "labels"});
}

void job_validate(const Call& call, const json::Value& object, Causes& causes) {
  (void)call;
  const json::Value* found = object.find("spec");
  if (found == nullptr || !found->is_object()) return;
  const json::Value& spec = *found;
  for (const char* key : {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
                          "backoffLimitPerIndex", "maxFailedIndexes", "ttlSecondsAfterFinished"})
    if (const json::Value* n = spec.find(key); n != nullptr && n->is_int() && n->as_int() < 0)
      causes.push_back(
          cause_invalid(std::string("spec.") + key, *n, "must be greater than or equal to 0"));
  const std::string_view mode = spec.get_string({"completionMode"});
  if (mode != "Indexed" && mode != "NonIndexed")
    causes.push_back({.reason = "FieldValueNotSupported",
                      .message = "Unsupported value: \"" + std::string(mode) +
                                 "\": supported values: \"NonIndexed\", \"Indexed\"",
                      .field = "spec.completionMode"});
  if (mode == "Indexed") {
    if (spec.find("completions") == nullptr)
      causes.push_back(cause_required("spec.completions", "when completion mode is Indexed"));
    if (spec.get_int({"parallelism"}) > kMaxIndexedParallelism)
      causes.push_back(cause_invalid("spec.parallelism", spec.get_int({"parallelism"}),
                                     "must be less than or equal to 100000 when completion mode "
                                     "is Indexed"));
  } else if (spec.find("backoffLimitPerIndex") != nullptr) {
    causes.push_back(cause_invalid("spec.backoffLimitPerIndex", *spec.find("backoffLimitPerIndex"),
                                   "requires indexed completion mode"));
  }
  if (spec.find("selector") == nullptr) {
    causes.push_back(cause_required("spec.selector", ""));
  }
  if (!selector_matches(spec.find("selector"),
                        spec.find_path({"template", "metadata", "labels"}))) {
    const json::Value* labels = spec.find_path({"template", "metadata", "labels"});
    causes.push_back(cause_invalid("spec.template.metadata.labels",
                                   labels == nullptr ? json::Value() : *labels,
                                   "`selector` does not match template `labels`"));
  }
  validate_pod_template(object, "spec.template", causes);
  const std::string_view restart = spec.get_string({"template", "spec", "restartPolicy"});
  if (restart == "Always")
    causes.push_back(cause_required("spec.template.spec.restartPolicy",
                                    "valid values: \"OnFailure\", \"Never\""));
  if (const json::Value* managed = spec.find("managedBy"); managed != nullptr) {
    if (managed->string_or("").find('/') == std::string_view::npos)
      causes.push_back(cause_invalid("spec.managedBy", *managed,
                                     "must be a domain-prefixed path (such as "
                                     "\"acme.io/foo\")"));
  }
}

namespace {

// What may change in the template of a Job that is suspended and has no pods.
json::Value fixed_part(json::Value pod_template) {
  if (json::Value* spec = pod_template.find("spec"); spec && spec->is_object()) {
    for (const char* key : {"nodeSelector", "tolerations", "affinity", "schedulingGates"})
      spec->as_object().erase(key);
    for (const char* key : {"containers", "initContainers"})
      if (json::Value* containers = spec->find(key); containers && containers->is_array())
        for (json::Value& c : containers->as_array())
          if (c.is_object()) c.as_object().erase("resources");
  }
  pod_template.erase_path({"metadata", "labels"});
  pod_template.erase_path({"metadata", "annotations"});
  if (const json::Value* m = pod_template.find("metadata");
      m != nullptr && m->is_object() && m->as_object().empty())
    pod_template.erase_path({"metadata"});
  return pod_template;
}

bool same(const json::Value* a, const json::Value* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return *a == *b;
}

}  // namespace

void job_validate_update(const Call& call, const json::Value& object, const json::Value& old,
                         Causes& causes) {
  (void)call;
  const json::Value& spec = *object.find("spec");
  const json::Value& before = *old.find("spec");
  const auto immutable = [&](std::string_view key) {
    const json::Value* now = spec.find(key);
    if (!same(now, before.find(key)))
      causes.push_back(cause_invalid("spec." + std::string(key),
                                     now == nullptr ? json::Value() : *now, "field is immutable"));
  };
  // An Indexed Job may be scaled with completions and parallelism equal before and after.
  const bool elastic = spec.get_string({"completionMode"}) == "Indexed" &&
                       spec.find("completions") != nullptr &&
                       same(spec.find("completions"), spec.find("parallelism")) &&
                       same(before.find("completions"), before.find("parallelism"));
  if (!elastic) immutable("completions");
  immutable("selector");
  const json::Value* now_template = spec.find("template");
  const json::Value* old_template = before.find("template");
  if (!same(now_template, old_template) && now_template != nullptr && old_template != nullptr) {
    const bool open =
        before.get_bool({"suspend"}) && (old.find_path({"status", "startTime"}) == nullptr ||
                                         old.get_int({"status", "active"}) == 0);
    if (!open) {
      causes.push_back(cause_invalid("spec.template", *now_template, "field is immutable"));
    } else if (!(fixed_part(*now_template) == fixed_part(*old_template))) {
      const json::Value* inner = now_template->find("spec");
      causes.push_back(cause_invalid(
          "spec.template.spec", inner == nullptr ? json::Value() : *inner, "field is immutable"));
    }
  }
  for (const char* key :
       {"completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"})
    immutable(key);
}

void job_validate_status(const Call&, const json::Value&, const json::Value&, Causes&) {}

void cron_job_defaults(json::Value& object) {
  json::Value* spec = spec_of(object);
  if (spec == nullptr) return;
  set_default(*spec, "concurrencyPolicy", "Allow");
  set_default(*spec, "suspend", false);
  set_default(*spec, "successfulJobsHistoryLimit", 3);
  set_default(*spec, "failedJobsHistoryLimit", 1);
  if (json::Value* pod = spec->find_path({"jobTemplate", "spec", "template", "spec"}))
    default_pod_spec(*pod);
}

void deployment_defaults(json::Value& object) {
  json::Value* spec = spec_of(object);
  if (spec == nullptr) return;
  set_default(*spec, "replicas", 1);
  set_default(*spec, "revisionHistoryLimit", 10);
  set_default(*spec, "progressDeadlineSeconds", 600);
  json::Value& strategy = (*spec)["strategy"];
  if (strategy.is_null()) strategy = json::Value::object();
  set_default(strategy, "type", "RollingUpdate");
  if (strategy.get_string({"type"}) == "RollingUpdate") {
    json::Value& rolling = strategy["rollingUpdate"];
    if (rolling.is_null()) rolling = json::Value::object();
    set_default(rolling, "maxSurge", "25%");
    set_default(rolling, "maxUnavailable", "25%");
  }
  default_template(*spec);
}

void replica_set_defaults(json::Value& object) {
  json::Value* spec = spec_of(object);
  if (spec == nullptr) return;
  set_default(*spec, "replicas", 1);
  default_template(*spec);
}

void replication_controller_defaults(json::Value& object) {
  json::Value* spec = spec_of(object);
  if (spec == nullptr) return;
  set_default(*spec, "replicas", 1);
  if (spec->find("selector") == nullptr)
    if (const json::Value* labels = spec->find_path({"template", "metadata", "labels"}))
      (*spec)["selector"] = json::Value(*labels);
  default_template(*spec);
}

void stateful_set_defaults(json::Value& object) {
  json::Value* spec = spec_of(object);
  if (spec == nullptr) return;
  set_default(*spec, "replicas", 1);
  set_default(*spec, "revisionHistoryLimit", 10);
  set_default(*spec, "podManagementPolicy", "OrderedReady");
  json::Value& strategy = (*spec)["updateStrategy"];
  if (strategy.is_null()) strategy = json::Value::object();
  set_default(strategy, "type", "RollingUpdate");
  if (strategy.get_string({"type"}) == "RollingUpdate") {
    json::Value& rolling = strategy["rollingUpdate"];
    if (rolling.is_null()) rolling = json::Value::object();
    set_default(rolling, "partition", 0);
  }
  json::Value& retention = (*spec)["persistentVolumeClaimRetentionPolicy"];
  if (retention.is_null()) retention = json::Value::object();
  set_default(retention, "whenDeleted", "Retain");
  set_default(retention, "whenScaled", "Retain");
  set_default(*spec, "serviceName", "");
  default_template(*spec);
}

void daemon_set_defaults(json::Value& object) {
  json::Value* spec = spec_of(object);
  if (spec == nullptr) return;
  set_default(*spec, "revisionHistoryLimit", 10);
  json::Value& strategy = (*spec)["updateStrategy"];
  if (strategy.is_null()) strategy = json::Value::object();
  set_default(strategy, "type", "RollingUpdate");
  if (strategy.get_string({"type"}) == "RollingUpdate") {
    json::Value& rolling = strategy["rollingUpdate"];
    if (rolling.is_null()) rolling = json::Value::object();
    set_default(rolling, "maxSurge", 0);
    set_default(rolling, "maxUnavailable", 1);
  }
  default_template(*spec);
}

void selector_validate(const Call& call, const json::Value& object, Causes& causes) {
  const json::Value* spec = object.find("spec");
  if (spec == nullptr || !spec->is_object()) return;
  if (call.resource().collection == "/replicationcontrollers") {
    validate_pod_template(object, "spec.template", causes);
    return;
  }
  const json::Value* selector = spec->find("selector");
  if (const json::Value* n = spec->find("replicas"); n != nullptr && n->int_or(0) < 0)
    causes.push_back(cause_invalid("spec.replicas", *n, "must be greater than or equal to 0"));
  const json::Value* labels = spec->find_path({"template", "metadata", "labels"});
  if (selector == nullptr) causes.push_back(cause_required("spec.selector", ""));
  if (!selector_matches(selector, labels))
    causes.push_back(cause_invalid("spec.template.metadata.labels",
                                   labels == nullptr ? json::Value() : *labels,
                                   "`selector` does not match template `labels`"));
  validate_pod_template(object, "spec.template", causes);
  const std::string_view restart = spec->get_string({"template", "spec", "restartPolicy"});
  if (!restart.empty() && restart != "Always")
    causes.push_back({.reason = "FieldValueNotSupported",
                      .message = "Unsupported value: \"" + std::string(restart) +
                                 "\": supported values: \"Always\"",
                      .field = "spec.template.spec.restartPolicy"});
}

void selector_validate_update(const Call& call, const json::Value& object, const json::Value& old,
                              Causes& causes) {
  (void)call;
  const json::Value* now = object.find_path({"spec", "selector"});
  if (!same(now, old.find_path({"spec", "selector"})))
    causes.push_back(cause_invalid("spec.selector", now == nullptr ? json::Value() : *now,
                                   "field is immutable"));
}

void stateful_set_validate_update(const Call& call, const json::Value& object,
                                  const json::Value& old, Causes& causes) {
  (void)call;
  json::Value now = *object.find("spec");
  json::Value before = *old.find("spec");
  for (json::Value* spec : {&now, &before})
    for (const char* key :
         {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
          "persistentVolumeClaimRetentionPolicy", "minReadySeconds"})
      spec->as_object().erase(key);
  if (!(now == before))
    causes.push_back(cause_forbidden(
        "spec",
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
        "'minReadySeconds' are forbidden"));
}

}  // namespace kueue::apiserver::kinds
