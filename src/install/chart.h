// The templates of the Helm chart that follow from our tables: CRDs, roles, APIServices, webhooks.
// What values choose (Deployment, Services, Configuration) is written by hand beside them. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kueue::install {

// File name below templates/ and its text.
std::vector<std::pair<std::string, std::string>> chart_files();

}  // namespace kueue::install
