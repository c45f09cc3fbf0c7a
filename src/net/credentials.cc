// Token files and credential plug-ins.
#include "net/credentials.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/base64.h"
#include "base/files.h"
#include "json/json.h"
#include "net/loop.h"
#include "net/socket.h"

extern char** environ;

namespace kueue::net {
namespace {

constexpr int64_t kTokenFileNs = 10'000'000'000;

std::string trim(std::string text) {
  const auto blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && blank(text.back())) text.pop_back();
  size_t start = 0;
  while (start < text.size() && blank(text[start])) ++start;
  return text.substr(start);
}

std::vector<std::string> merged_environment(
    const std::vector<std::pair<std::string, std::string>>& extra) {
  std::vector<std::string> result;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text(*one);
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced =
        std::any_of(extra.begin(), extra.end(), [&](const auto& e) { return e.first == name; });
    if (!replaced) result.emplace_back(text);
  }
  for (const auto& [name, value] : extra) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& one : strings) result.push_back(one.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Result<CommandOutput> run_command(const std::vector<std::string>& argv,
                                  const std::vector<std::pair<std::string, std::string>>& env,
                                  Duration timeout) {
  std::array<int, 2> out{};
  if (pipe2(out.data(), O_CLOEXEC) != 0) {
    return make_error(ErrorCode::kUnavailable,
                      "cannot run '" + argv[0] + "': " + errno_text(errno));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  std::vector<std::string> args = argv;
  std::vector<std::string> environment = merged_environment(env);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0].c_str(), &actions, nullptr, pointers(args).data(),
                                 pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  if (error != 0) {
    close(out[0]);
    return make_error(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                      "cannot run '" + argv[0] + "': " + errno_text(error));
  }
  CommandOutput result;
  const int64_t deadline = steady_ns() + timeout.ns;
  bool timed_out = false;
  for (;;) {
    const int64_t left_ms = (deadline - steady_ns()) / 1'000'000;
    pollfd wait{out[0], POLLIN, 0};
    if (left_ms <= 0 || poll(&wait, 1, static_cast<int>(left_ms)) == 0) {
      timed_out = true;
      kill(pid, SIGKILL);
      break;
    }
    std::array<char, 4096> buffer{};
    const ssize_t n = read(out[0], buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || result.out.size() > (1u << 20)) break;
    result.out.append(buffer.data(), static_cast<size_t>(n));
  }
  close(out[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (timed_out) {
    return make_error(ErrorCode::kTimeout,
                      "'" + argv[0] + "' did not end within " + format_duration(timeout));
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

Result<ExecCredential> parse_exec_credential(const std::string& text) {
  const auto bad = [](const std::string& why) {
    return make_error(ErrorCode::kUnauthorized,
                      "the credential plug-in's output is not usable: " + why);
  };
  const Result<json::Value> parsed = json::parse(text);
  if (!parsed.ok()) return bad(parsed.error().message);
  if (parsed->get_string({"kind"}) != "ExecCredential")
    return bad("its kind is not ExecCredential");
  ExecCredential result;
  result.token = parsed->get_string({"status", "token"});
  result.cert_pem = parsed->get_string({"status", "clientCertificateData"});
  result.key_pem = parsed->get_string({"status", "clientKeyData"});
  if (result.token.empty() && result.cert_pem.empty()) {
    return bad("status has neither token nor clientCertificateData");
  }
  if (result.cert_pem.empty() != result.key_pem.empty()) {
    return bad("clientCertificateData and clientKeyData come together");
  }
  const std::string_view expiry = parsed->get_string({"status", "expirationTimestamp"});
  if (!expiry.empty()) {
    const Result<Instant> time = parse_time(expiry);
    if (!time.ok()) return bad("status.expirationTimestamp: " + time.error().message);
    result.expiry = *time;
  }
  return result;
}

Credentials::Credentials(const TransportOptions& options)
    : token_file_(options.token_file), exec_(options.exec) {
  current_.cert_pem = options.client_cert_pem;
  current_.key_pem = options.client_key_pem;
  if (!options.token.empty()) {
    current_.authorization = "Bearer " + options.token;
  } else if (!options.username.empty()) {
    current_.authorization = "Basic " + base64_encode(options.username + ":" + options.password);
  }
}

Result<Credential> Credentials::get() {
  std::lock_guard lock(mutex_);
  if (!dynamic()) return current_;
  if (have_ && (valid_until_ == 0 || steady_ns() < valid_until_)) return current_;
  if (exec_) {
    KUEUE_TRY(run_plugin());
  } else if (auto result = read_token_file(); !result.ok()) {
    // A file that is being replaced: the former token is better than none.
    if (!have_) return std::move(result).error();
    valid_until_ = steady_ns() + kTokenFileNs;
  }
  have_ = true;
  return current_;
}

bool Credentials::refuse(const Credential& used) {
  std::lock_guard lock(mutex_);
  if (!dynamic()) return false;
  // Another thread may have renewed them since.
  if (used.authorization == current_.authorization && used.generation == current_.generation) {
    valid_until_ = 1;
  }
  return true;
}

Result<void> Credentials::read_token_file() {
  const Result<std::string> text = read_file(token_file_);
  if (!text.ok()) {
    return make_error(ErrorCode::kUnauthorized,
                      "token file is not readable: " + text.error().message);
  }
  std::string token = trim(*text);
  if (token.empty()) {
    return make_error(ErrorCode::kUnauthorized, "token file '" + token_file_ + "' is empty");
  }
  current_.authorization = "Bearer " + token;
  valid_until_ = steady_ns() + kTokenFileNs;
  return {};
}

Result<void> Credentials::run_plugin() {
  std::vector<std::string> argv{exec_->command};
  argv.insert(argv.end(), exec_->args.begin(), exec_->args.end());
  auto env = exec_->env;
  env.emplace_back(
      "KUBERNETES_EXEC_INFO",
      json::write(json::Value::object({{"kind", "ExecCredential"},
                                       {"apiVersion", exec_->api_version},
                                       {"spec", json::Value::object({{"interactive", false}})}})));
  Result<CommandOutput> output = run_command(argv, env, exec_->timeout);
  if (!output.ok()) {
    Error error = std::move(output).error();
    if (error.code == ErrorCode::kNotFound && !exec_->install_hint.empty()) {
      error.message += "\n" + exec_->install_hint;
    }
    error.code = ErrorCode::kUnauthorized;
    return error;
  }
  if (output->exit_code != 0) {
    return make_error(ErrorCode::kUnauthorized, "credential plug-in '" + exec_->command +
                                                    "' failed with exit code " +
                                                    std::to_string(output->exit_code));
  }
  KUEUE_ASSIGN(const ExecCredential credential, parse_exec_credential(output->out));
  if (!credential.token.empty()) current_.authorization = "Bearer " + credential.token;
  if (credential.cert_pem != current_.cert_pem || credential.key_pem != current_.key_pem) {
    current_.cert_pem = credential.cert_pem;
    current_.key_pem = credential.key_pem;
    ++current_.generation;
  }
  valid_until_ = 0;
  if (!credential.expiry.is_zero()) {
    const Duration left = credential.expiry - system_clock().now();
    valid_until_ = std::max<int64_t>(1, steady_ns() + left.ns);
  }
  return {};
}

}  // namespace kueue::net
