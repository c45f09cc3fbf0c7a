// The particular rules of built-in kinds, by group; put together in traits.cc. Pure but for
// look-ups in the store.
#pragma once

#include "apiserver/traits.h"

namespace kueue::apiserver::kinds {

// core
void pod_defaults(json::Value& object);
void pod_create(Call& call, json::Value& object);
void pod_validate(const Call& call, const json::Value& object, Causes& causes);
void pod_validate_update(const Call& call, const json::Value& object, const json::Value& old,
                         Causes& causes);
void template_defaults(json::Value& object);  // PodTemplate
void namespace_defaults(json::Value& object);
void namespace_create(Call& call, json::Value& object);
void namespace_update(Call& call, json::Value& object, const json::Value& old);
void config_map_validate(const Call& call, const json::Value& object, Causes& causes);
void config_map_validate_update(const Call& call, const json::Value& object, const json::Value& old,
                                Causes& causes);
void secret_defaults(json::Value& object);
void secret_validate(const Call& call, const json::Value& object, Causes& causes);
void secret_validate_update(const Call& call, const json::Value& object, const json::Value& old,
                            Causes& causes);
void node_create(Call& call, json::Value& object);
void service_defaults(json::Value& object);
void service_create(Call& call, json::Value& object);
void event_defaults(json::Value& object);
void event_validate(const Call& call, const json::Value& object, Causes& causes);

// batch and apps
void job_defaults(json::Value& object);
void job_create(Call& call, json::Value& object);
void job_validate(const Call& call, const json::Value& object, Causes& causes);
void job_validate_update(const Call& call, const json::Value& object, const json::Value& old,
                         Causes& causes);
void job_validate_status(const Call& call, const json::Value& object, const json::Value& old,
                         Causes& causes);
void cron_job_defaults(json::Value& object);
void deployment_defaults(json::Value& object);
void replica_set_defaults(json::Value& object);
void stateful_set_defaults(json::Value& object);
void daemon_set_defaults(json::Value& object);
void replication_controller_defaults(json::Value& object);
void selector_validate(const Call& call, const json::Value& object, Causes& causes);
void selector_validate_update(const Call& call, const json::Value& object, const json::Value& old,
                              Causes& causes);
void stateful_set_validate_update(const Call& call, const json::Value& object,
                                  const json::Value& old, Causes& causes);

// the rest
void crd_defaults(json::Value& object);
void crd_create(Call& call, json::Value& object);
void crd_update(Call& call, json::Value& object, const json::Value& old);
void crd_validate(const Call& call, const json::Value& object, Causes& causes);
void crd_validate_update(const Call& call, const json::Value& object, const json::Value& old,
                         Causes& causes);
void priority_class_defaults(json::Value& object);
void priority_class_validate(const Call& call, const json::Value& object, Causes& causes);
void priority_class_validate_update(const Call& call, const json::Value& object,
                                    const json::Value& old, Causes& causes);
void webhook_defaults(json::Value& object);
void policy_defaults(json::Value& object);
void mutating_policy_create(Call& call, json::Value& object);
void api_service_create(Call& call, json::Value& object);
void webhook_validate(const Call& call, const json::Value& object, Causes& causes);

// Shared: the pod template below spec.template, and a PodSpec at `path`.
void validate_pod_template(const json::Value& object, std::string_view path, Causes& causes);
void validate_pod_spec(const json::Value& spec, const std::string& path, Causes& causes);

}  // namespace kueue::apiserver::kinds
