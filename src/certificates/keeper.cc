#include "certificates/keeper.h"

#include <algorithm>

#include "base/base64.h"

namespace kueue::certificates {
namespace {

constexpr Duration kRetryMax = Duration::seconds(60);
// Also when nothing was seen to change: clocks are set, watches may miss.
constexpr Duration kCheckInterval = Duration::seconds(12LL * 3600);
constexpr int kAttempts = 5;

const kube::Resource kSecrets{"", "v1", "secrets", "Secret", true};
const kube::Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                  "CustomResourceDefinition", false};
const kube::Resource kMutating{"admissionregistration.k8s.io", "v1",
                               "mutatingwebhookconfigurations", "MutatingWebhookConfiguration",
                               false};
const kube::Resource kValidating{"admissionregistration.k8s.io", "v1",
                                 "validatingwebhookconfigurations",
                                 "ValidatingWebhookConfiguration", false};
const kube::Resource kApiServices{"apiregistration.k8s.io", "v1", "apiservices", "APIService",
                                  false};

bool is_ours(const json::Value& service, const KeeperOptions& options) {
  return service.get_string({"namespace"}) == options.namespace_ &&
         std::find(options.services.begin(), options.services.end(),
                   service.get_string({"name"})) != options.services.end();
}

// `holder` has `service` and `caBundle` side by side.
bool set_in(json::Value* holder, const KeeperOptions& options, const std::string& bundle) {
  if (holder == nullptr) return false;
  const json::Value* service = holder->find("service");
  if (service == nullptr || !is_ours(*service, options)) return false;
  if (holder->get_string({"caBundle"}) == bundle) return false;
  (*holder)["caBundle"] = bundle;
  holder->erase_path({"insecureSkipTLSVerify"});  // an APIService's; never with a bundle
  return true;
}

// What the cache keeps of a configuration: only what refers to us.
struct Target {
  json::Value references;
};

void keep_reference(json::Value& to, std::initializer_list<std::string_view> path,
                    const json::Value* holder) {
  if (holder == nullptr || holder->find("service") == nullptr) return;
  json::Value& kept = to.at_path(path);
  kept["service"] = *holder->find("service");
  if (const json::Value* bundle = holder->find("caBundle")) kept["caBundle"] = *bundle;
}

json::Value references_of(const json::Value& document) {
  json::Value kept = json::Value::object();
  keep_reference(kept, {"spec"}, document.find("spec"));
  keep_reference(kept, {"spec", "conversion", "webhook", "clientConfig"},
                 document.find_path({"spec", "conversion", "webhook", "clientConfig"}));
  const json::Value* hooks = document.find("webhooks");
  if (hooks == nullptr || !hooks->is_array()) return kept;
  json::Value& list = kept["webhooks"];
  list = json::Value::array();
  for (const json::Value& hook : hooks->as_array()) {
    json::Value one = json::Value::object();
    keep_reference(one, {"clientConfig"}, hook.find("clientConfig"));
    list.as_array().push_back(std::move(one));
  }
  return kept;
}

}  // namespace

bool set_bundle(json::Value& document, const KeeperOptions& options, const std::string& bundle) {
  bool changed = set_in(document.find("spec"), options, bundle);
  changed |= set_in(document.find_path({"spec", "conversion", "webhook", "clientConfig"}), options,
                    bundle);
  json::Value* hooks = document.find("webhooks");
  if (hooks == nullptr || !hooks->is_array()) return changed;
  for (json::Value& hook : hooks->as_array())
    changed |= set_in(hook.find("clientConfig"), options, bundle);
  return changed;
}

CertificateKeeper::CertificateKeeper(std::shared_ptr<kube::Client> client, kube::Executor& executor,
                                     KeeperOptions options,
                                     std::function<void(const ServingSet&)> on_certificate,
                                     std::function<void(const std::string&)> log)
    : client_(std::move(client)),
      executor_(executor),
      options_(std::move(options)),
      names_(service_names(options_.services, options_.namespace_)),
      on_certificate_(std::move(on_certificate)),
      log_(std::move(log)),
      controller_(executor,
                  {.name = "certificates",
                   .rate_limit = {.base = Duration::millis(100), .max = kRetryMax},
                   .on_error =
                       [this](const std::string&, const kube::ObjectKey&, const Error& error) {
                         if (log_) log_("certificates: " + error.message);
                       }},
                  [this](const kube::ObjectKey&) { return reconcile(); }) {
  informers_.push_back(std::make_unique<kube::InformerCore>(
      client_, executor_, kSecrets,
      [](const json::Value& document) -> Result<kube::ErasedObject> {
        return kube::ErasedObject(
            std::make_shared<std::string>(document.get_string({"metadata", "resourceVersion"})));
      },
      kube::InformerOptions{.namespace_ = options_.namespace_,
                            .field_selector = "metadata.name=" + options_.secret}));
  informers_.back()->add_handler([this](const auto&, const auto&) { controller_.enqueue({}); });
  add_target(kMutating, "");
  add_target(kValidating, "");
  add_target(kApiServices, "");
  for (const std::string& name : options_.definitions) add_target(kDefinitions, name);
  for (auto& informer : informers_)
    informer->set_on_error([this](const Error& error) {
      if (log_) log_("certificates: " + error.message);
    });
}

void CertificateKeeper::add_target(const kube::Resource& resource, const std::string& name) {
  informers_.push_back(std::make_unique<kube::InformerCore>(
      client_, executor_, resource,
      [](const json::Value& document) -> Result<kube::ErasedObject> {
        auto target = std::make_shared<Target>();
        target->references = references_of(document);
        return kube::ErasedObject(std::move(target));
      },
      kube::InformerOptions{.field_selector = name.empty() ? "" : "metadata.name=" + name}));
  informers_.back()->add_handler([this](const auto&, const kube::ErasedObject& now) {
    if (now == nullptr) return;
    std::string bundle;
    {
      std::lock_guard lock(mutex_);
      bundle = bundle_;
    }
    json::Value references = static_cast<const Target*>(now.get())->references;
    if (!bundle.empty() && set_bundle(references, options_, bundle)) controller_.enqueue({});
  });
}

CertificateKeeper::~CertificateKeeper() { stop(); }

void CertificateKeeper::start() {
  for (auto& informer : informers_) informer->start();
  controller_.enqueue({});
  controller_.start();
}

void CertificateKeeper::stop() {
  for (auto& informer : informers_) informer->stop();
  controller_.stop();
}

bool CertificateKeeper::has_certificate() const {
  std::lock_guard lock(mutex_);
  return !served_.bundle.empty();
}

bool CertificateKeeper::idle() const {
  return std::all_of(informers_.begin(), informers_.end(),
                     [](const auto& informer) { return informer->idle(); });
}

Result<kube::ReconcileResult> CertificateKeeper::reconcile() {
  KUEUE_ASSIGN(const ServingSet set, agree_on_set());
  {
    std::lock_guard lock(mutex_);
    bundle_ = base64_encode(set.bundle);
  }
  const Result<void> injected = inject(base64_encode(set.bundle));
  bool changed = false;
  {
    std::lock_guard lock(mutex_);
    changed = !(served_ == set);
    served_ = set;
  }
  // Even where the authority could not be written: a current certificate is never worse.
  if (changed) on_certificate_(set);
  if (!injected.ok()) return injected.error();
  const Duration left = renewal_time(set) - executor_.clock().now();
  return kube::ReconcileResult{std::clamp(left, Duration::seconds(1), kCheckInterval)};
}

Result<ServingSet> CertificateKeeper::agree_on_set() {
  const kube::ObjectKey key{options_.namespace_, options_.secret};
  Error last;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto secret = client_->get(kSecrets, key);
    if (!secret.ok() && secret.error().code != ErrorCode::kNotFound) return secret.error();
    const Instant now = executor_.clock().now();
    auto held = secret.ok() ? from_secret(*secret)
                            : Result<ServingSet>(make_error(ErrorCode::kNotFound, "absent"));
    const Flaw flaw =
        held.ok() ? flaw_of(*held, names_, now) : Flaw{held.error().message, /*authority=*/true};
    if (flaw.reason.empty()) return held;
    KUEUE_ASSIGN(ServingSet made, renew(held.ok() ? &*held : nullptr, names_, now));
    json::Value wanted =
        secret.ok() ? *secret
                    : json::Value::object(
                          {{"apiVersion", "v1"},
                           {"kind", "Secret"},
                           {"metadata", json::Value::object({{"name", options_.secret},
                                                             {"namespace", options_.namespace_}})},
                           {"type", "Opaque"}});
    into_secret(made, wanted);
    const auto written = secret.ok() ? client_->update(kSecrets, wanted)
                                     : client_->create(kSecrets, options_.namespace_, wanted);
    if (written.ok()) {
      if (log_)
        log_("certificates: made new ones in Secret " + key.to_string() + " (" + flaw.reason + ")");
      return made;
    }
    last = written.error();
    if (last.code != ErrorCode::kConflict && last.code != ErrorCode::kAlreadyExists) return last;
  }
  return last;
}

Result<void> CertificateKeeper::write_bundle(const kube::Resource& resource, json::Value document,
                                             const std::string& bundle) {
  const std::string name(document.get_string({"metadata", "name"}));
  Error last;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (!set_bundle(document, options_, bundle)) return {};
    const auto written = client_->update(resource, document);
    if (written.ok()) {
      if (log_) log_("certificates: wrote the authority into " + resource.kind + " " + name);
      return {};
    }
    last = written.error();
    if (last.code != ErrorCode::kConflict) return last;
    // The server's own controllers write these too: their version is taken and tried again.
    KUEUE_ASSIGN(document, client_->get(resource, {"", name}));
  }
  return last;
}

Result<void> CertificateKeeper::inject(const std::string& bundle) {
  Result<void> result;
  for (size_t i = 1; i < informers_.size(); ++i) {
    kube::InformerCore& informer = *informers_[i];
    // Names first: the list is of the moment, and each is read anew before it is written.
    const kube::Resource& resource = informer.resource();
    auto listed = client_->list(
        resource, "",
        {.field_selector = resource == kDefinitions ? "metadata.name=" + options_.definitions[i - 4]
                                                    : std::string()});
    if (!listed.ok()) {
      // A server without such a kind has nothing to write into.
      if (listed.error().code != ErrorCode::kNotFound) result = listed.error();
      continue;
    }
    for (json::Value& document : listed->items) {
      if (auto written = write_bundle(resource, std::move(document), bundle); !written.ok())
        result = written.error();
    }
  }
  return result;
}

}  // namespace kueue::certificates
