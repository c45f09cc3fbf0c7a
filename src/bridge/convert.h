// Small conversions shared by the files of the bridge. Internal.
#pragma once

#include <vector>

#include "api/core.h"
#include "api/kueue.h"
#include "engine/model/objects.h"

namespace kueue::bridge {

std::vector<engine::Toleration> tolerations_of(const std::vector<api::core::Toleration>& list);
std::vector<engine::Taint> taints_of(const std::vector<api::core::Taint>& list);
engine::NodeSelectorTerm term_of(const api::core::NodeSelectorTerm& term);
engine::LabelSelector selector_of(const api::meta::LabelSelector& selector);
engine::Admission from_api(const api::v1beta2::Admission& admission);

}  // namespace kueue::bridge
