// CertificateKeeper: holds the Secret with Kueue's certificates, renews them in time, and writes
// the authority into everything that calls Kueue: webhook configurations, the conversion of its
// CRDs, its APIServices. Every replica runs one, leader or not. They agree through the Secret's
// resourceVersion: whoever writes first wins, the others read what it wrote.
//
// A new certificate is handed out after its authority has been written where it is needed, so that
// no caller meets a server it cannot verify.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "certificates/serving_set.h"
#include "kube/client.h"
#include "kube/controller.h"
#include "kube/executor.h"
#include "kube/informer.h"

namespace kueue::certificates {

struct KeeperOptions {
  std::string namespace_ = "kueue-system";
  std::string secret = "kueue-webhook-server-cert";
  // Services the certificate is for; what refers to one of them gets the authority.
  std::vector<std::string> services = {"kueue-webhook-service", "kueue-visibility-server"};
  // CRDs to look at, by name.
  std::vector<std::string> definitions = {};
};

class CertificateKeeper {
 public:
  // `on_certificate` comes on the executor for the first set and each later one. `log` may be
  // empty.
  CertificateKeeper(std::shared_ptr<kube::Client> client, kube::Executor& executor,
                    KeeperOptions options, std::function<void(const ServingSet&)> on_certificate,
                    std::function<void(const std::string&)> log);
  ~CertificateKeeper();  // stop()

  // Works until stop(); failures are logged and tried again with growing delay, at most a minute.
  void start();
  void stop();
  // A set from the Secret has been handed out.
  bool has_certificate() const;
  // Nothing to do until something changes or time passes. For tests.
  bool idle() const;

 private:
  Result<kube::ReconcileResult> reconcile();
  // The set of the Secret, made or renewed where needed.
  Result<ServingSet> agree_on_set();
  void add_target(const kube::Resource& resource, const std::string& name);
  // Writes the authority into one object, on its newest version; a document that has it already is
  // left alone.
  Result<void> write_bundle(const kube::Resource& resource, json::Value document,
                            const std::string& bundle);
  Result<void> inject(const std::string& bundle);

  std::shared_ptr<kube::Client> client_;
  kube::Executor& executor_;
  KeeperOptions options_;
  std::vector<std::string> names_;
  std::function<void(const ServingSet&)> on_certificate_;
  std::function<void(const std::string&)> log_;
  kube::Controller controller_;
  std::vector<std::unique_ptr<kube::InformerCore>> informers_;  // the Secret's first
  mutable std::mutex mutex_;
  std::string bundle_;  // base64, as last agreed
  ServingSet served_;
};

// Writes `bundle` (base64) into each clientConfig (or APIService spec) of the document that names
// one of the services, and says whether that changed anything.
bool set_bundle(json::Value& document, const KeeperOptions& options, const std::string& bundle);

}  // namespace kueue::certificates
