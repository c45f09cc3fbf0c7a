#include "apiserver/core.h"

#include "apiserver/admission.h"
#include "apiserver/bootstrap.h"
#include "apiserver/crds.h"
#include "apiserver/encoding.h"
#include "apiserver/gc.h"
#include "apiserver/json_scan.h"
#include "apiserver/namespaces.h"
#include "apiserver/openapi_documents.h"
#include "apiserver/sqlite_log.h"
#include "json/json.h"

namespace kueue::apiserver {

namespace {

constexpr std::string_view kTokenKey = "token-key";
constexpr int64_t kBookmarkSeconds = 60;

}  // namespace

std::string Core::random(size_t n) const {
  return options.random ? options.random(n) : random_bytes(n);
}

std::string Core::new_uid() const {
  std::string bytes = random(16);
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  constexpr char kHex[] = "0123456789abcdef";
  std::string uid;
  uid.reserve(36);
  for (size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) uid += '-';
    const auto byte = static_cast<unsigned char>(bytes[i]);
    uid += kHex[byte >> 4];
    uid += kHex[byte & 15];
  }
  return uid;
}

std::string Core::random_suffix(size_t n) const {
  // No vowels and none that look alike, as in Kubernetes.
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  for (const char c : random(n)) out += kLetters[static_cast<unsigned char>(c) % kLetters.size()];
  return out;
}

Core::Core(Options o)
    : options(std::move(o)),
      hub(options.watch_history),
      timers(options.threaded ? nullptr : options.clock),
      workers(options.threaded ? options.webhook_threads : 0),
      background(options.threaded ? 1 : 0),
      clock_(options.clock != nullptr ? options.clock : &system_clock()) {}

Core::~Core() { stop(); }

Result<void> Core::open() {
  if (!options.threaded && (!options.memory || options.clock == nullptr))
    return make_error(ErrorCode::kBadRequest,
                      "without threads: memory mode and a clock are needed");
  std::unique_ptr<SqliteLog> log;
  if (!options.memory) {
    if (options.data_dir.empty())
      return make_error(ErrorCode::kBadRequest, "a data folder or memory mode is needed");
    KUEUE_ASSIGN(log, SqliteLog::open(options.data_dir));
  }
  KUEUE_ASSIGN(store, Store::open(
                          std::move(log),
                          [this](std::vector<Change> changes) { hub.publish(std::move(changes)); },
                          [this](uint64_t revision) {
                            hub.reset(revision);
                            if (crds != nullptr) crds->refresh();
                          },
                          options.threaded));
  KUEUE_TRY(make_keys());
  collector = std::make_unique<Collector>(*this);
  namespaces = std::make_unique<Namespaces>(*this);
  crds = std::make_unique<Crds>(*this);
  admission = std::make_unique<Admission>(*this);
  openapi = std::make_unique<OpenApiDocuments>();
  crds->load(make_built_in(options.resources));
  admission->load();
  collector->load();
  hub.set_observer([this](const Change& change) { observe(change); });
  hub.start(store->loaded_revision(), store->first_revision(), options.threaded);
  KUEUE_TRY(bootstrap_objects(*this));
  namespaces->load();
  timers.after(Duration::seconds(kBookmarkSeconds), [this] { tick(); });
  return {};
}

Result<void> Core::make_keys() {
  token_key_ = store->meta(kTokenKey);
  if (token_key_.empty()) {
    token_key_ = random(32);
    KUEUE_TRY(store->set_meta(kTokenKey, token_key_));
  }
  return {};
}

void Core::observe(const Change& change) {
  collector->observe(change);
  namespaces->observe(change);
  crds->observe(change);
}

void Core::tick() {
  if (stopping_) return;
  hub.send_progress();
  collector->expire_events();
  timers.after(Duration::seconds(kBookmarkSeconds), [this] { tick(); });
}

bool Core::work() {
  return store->work() || hub.work() || background.work() || workers.work() || timers.work();
}

void Core::stop() {
  if (stopping_.exchange(true)) return;
  timers.stop();
  workers.stop();
  background.stop();
  if (store != nullptr) store->stop();
  hub.stop();
}

std::shared_ptr<const Catalog> Core::catalog() const {
  std::shared_lock lock(mutex_);
  return catalog_;
}

void Core::set_catalog(std::shared_ptr<const Catalog> catalog) {
  std::unique_lock lock(mutex_);
  catalog_ = std::move(catalog);
}

wire::Handler* Core::service(std::string_view namespace_, std::string_view name) const {
  std::shared_lock lock(mutex_);
  const auto it = services_.find(object_key(namespace_, name));
  return it == services_.end() ? nullptr : it->second;
}

const Converter* Core::converter(std::string_view group, std::string_view kind) const {
  std::shared_lock lock(mutex_);
  const auto it = converters_.find(object_key(group, kind));
  return it == converters_.end() ? nullptr : it->second.get();
}

void Core::register_service(std::string_view namespace_, std::string_view name,
                            wire::Handler* handler) {
  std::unique_lock lock(mutex_);
  if (handler == nullptr)
    services_.erase(object_key(namespace_, name));
  else
    services_[object_key(namespace_, name)] = handler;
}

void Core::register_converter(std::string_view group, std::string_view kind, Converter converter) {
  std::unique_lock lock(mutex_);
  // Kept for ever once set: calls in flight hold plain pointers.
  converters_.emplace(object_key(group, kind),
                      std::make_shared<const Converter>(std::move(converter)));
}

std::string Core::issue_token(std::string_view namespace_, std::string_view name,
                              std::string_view uid, Instant expires) const {
  const auto header = json::Value::object({{"alg", "HS256"}, {"typ", "JWT"}});
  const std::string user =
      "system:serviceaccount:" + std::string(namespace_) + ":" + std::string(name);
  const auto claims = json::Value::object(
      {{"iss", "https://kubernetes.default.svc"},
       {"sub", user},
       {"iat", now().ns / 1'000'000'000},
       {"exp", expires.ns / 1'000'000'000},
       {"kubernetes.io",
        json::Value::object(
            {{"namespace", namespace_},
             {"serviceaccount", json::Value::object({{"name", name}, {"uid", uid}})}})}});
  const std::string body =
      base64url_encode(json::write(header)) + "." + base64url_encode(json::write(claims));
  return body + "." + base64url_encode(hmac_sha256(token_key_, body));
}

wire::Identity Core::identity_of_token(std::string_view token) const {
  if (const auto it = options.tokens.find(token); it != options.tokens.end()) return it->second;
  const size_t last = token.rfind('.');
  const size_t first = token.find('.');
  if (last == std::string_view::npos || first == last || token.size() > 8192) return {};
  const auto signature = base64url_decode(token.substr(last + 1));
  if (!signature ||
      !equal_constant_time(*signature, hmac_sha256(token_key_, token.substr(0, last))))
    return {};
  const auto text = base64url_decode(token.substr(first + 1, last - first - 1));
  if (!text) return {};
  const auto claims = json::parse(*text);
  if (!claims.ok() || claims->get_int({"exp"}) <= now().ns / 1'000'000'000) return {};
  const std::string_view namespace_ = claims->get_string({"kubernetes.io", "namespace"});
  const std::string_view name = claims->get_string({"kubernetes.io", "serviceaccount", "name"});
  const StoredPtr account = store->get("/serviceaccounts", object_key(namespace_, name));
  if (account == nullptr || scan_string(account->bytes, {"metadata", "uid"}) !=
                                claims->get_string({"kubernetes.io", "serviceaccount", "uid"}))
    return {};
  wire::Identity identity;
  identity.user = claims->get_string({"sub"});
  identity.groups = {"system:serviceaccounts", "system:serviceaccounts:" + std::string(namespace_),
                     "system:authenticated"};
  return identity;
}

}  // namespace kueue::apiserver
