// What `kueue install` prints, against the embedded API server: every object is accepted without a
// warning, twice.
#include <gtest/gtest.h>

#include "api/registry.h"
#include "apiserver/server.h"
#include "app/in_process_transport.h"
#include "install/manifests.h"
#include "json/json.h"
#include "kube/client.h"

namespace kueue::app {
namespace {

TEST(InstallManifests, ApplyCleanly) {
  apiserver::Options options;
  options.memory = true;
  const auto builtin = api::builtin_resources();
  options.resources = {builtin.begin(), builtin.end()};
  auto server = apiserver::Server::open(std::move(options));
  ASSERT_TRUE(server.ok());
  kube::Client client(make_in_process_transport(
                          **server, {.user = "admin", .groups = {"system:masters"}, .extra = {}}),
                      "test");
  const auto objects = install::objects({.namespace_ = "queues"}).value();
  for (int round = 0; round < 2; ++round) {
    for (const json::Value& object : objects) {
      const auto* info =
          api::find_kind(object.get_string({"apiVersion"}), object.get_string({"kind"}));
      ASSERT_NE(info, nullptr);
      const kube::ObjectKey key{std::string(object.get_string({"metadata", "namespace"})),
                                std::string(object.get_string({"metadata", "name"}))};
      const auto applied =
          client.patch(kube::Resource::of(*info), key, kube::PatchType::kApply, object,
                       {.field_manager = "test", .field_validation = "Strict", .force = false});
      ASSERT_TRUE(applied.ok()) << info->kind << " " << key.to_string() << ": "
                                << applied.error().message;
    }
  }
}

}  // namespace
}  // namespace kueue::app
