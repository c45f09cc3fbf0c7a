// vectors DIR... [--only ID] [--differences FILE] [--no-counterpart FILE] [--passing FILE
// [--update]]
//
// Judges every vector in the folders (and files) and prints passed, failed and differing per kind,
// a diff for each failure, and last "N passed, N failed". Differing are those that --differences
// lists with a reason (a JSON object, id to reason); they fail when they do not differ any more.
// Cases of routines that --no-counterpart names (a JSON object, "kind routine" to reason) are
// counted apart: they describe an inside of Kueue that ours does not have. Ends with 0 when nothing
// failed. With --passing only what that list names may not fail; --update adds to it.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "json/json.h"
#include "judge.h"

namespace kueue::vectors {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<fs::path> paths;
  std::string only;
  std::string differences;
  std::string no_counterpart;
  std::string passing;
  bool update = false;
};

struct Count {
  size_t passed = 0, failed = 0, differing = 0;
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::set<std::string> lines_of(const std::string& path) {
  std::set<std::string> out;
  std::istringstream in(read(path));
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out.insert(line);
  return out;
}

class Run {
 public:
  explicit Run(Options options) : options_(std::move(options)) {}
  int go();

 private:
  static bool load(const std::string& path, std::map<std::string, std::string>& into);
  void file(const fs::path& path);
  void judge(const Case& test, const json::Value& document);
  void failed(const Case& test, const Differences& differences);
  void report();

  Options options_;
  Judges judges_;
  std::map<std::string, std::string> reasons_;
  std::map<std::string, std::string> no_counterpart_;  // routine to reason
  std::map<std::string, size_t> without_counterpart_;  // cases by routine
  std::map<std::string, Count> counts_;                // by kind, with the area for tables
  std::map<std::string, size_t> not_judged_;           // by kind and subject
  std::set<std::string> passed_, regressed_, listed_;
  size_t unreadable_ = 0;
};

// A JSON object of texts; no path is an empty one.
bool Run::load(const std::string& path, std::map<std::string, std::string>& into) {
  if (path.empty()) return true;
  Result<json::Value> list = json::parse(read(path));
  if (!list.ok() || !list->is_object()) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(),
                 list.ok() ? "not an object" : list.error().message.c_str());
    return false;
  }
  for (const auto& [name, reason] : list->as_object())
    into[name] = std::string(reason.string_or(""));
  return true;
}

std::string subject_of(const std::string& id) {
  size_t dash = id.rfind('-');
  return dash == std::string::npos ? id : id.substr(0, dash);
}

void Run::file(const fs::path& path) {
  Result<json::Value> document = json::parse(read(path));
  if (!document.ok() || !document->is_object()) {
    std::printf("UNREADABLE %s: %s\n", path.c_str(),
                document.ok() ? "not an object" : document.error().message.c_str());
    ++unreadable_;
    return;
  }
  if (document->get_string({"schema"}) != "kueue-vector/v1") return;  // not one of ours
  std::string kind(document->get_string({"kind"}));
  const json::Value* cases = document->find("cases");
  if (cases == nullptr || !cases->is_array())
    return judge({std::string(document->get_string({"id"}, path.stem().string())), kind, "", ""},
                 *document);
  for (const json::Value& test : cases->as_array()) {
    Case one{std::string(test.get_string({"id"})), std::string(test.get_string({"kind"}, kind)), "",
             ""};
    one.subject = subject_of(one.id);
    one.call =
        std::string(test.get_string({"input", "call"}, test.get_string({"input", "controller"})));
    judge(one, test);
  }
}

void Run::judge(const Case& test, const json::Value& document) {
  if (!options_.only.empty() && test.id.find(options_.only) == std::string::npos) return;
  std::string row = test.kind;
  if (!test.subject.empty()) row += " " + test.subject.substr(0, test.subject.find('/'));
  for (const std::string& name : Judges::names_of(test))
    if (no_counterpart_.contains(name)) {
      ++without_counterpart_[name];
      return;
    }
  const Judge* judge = judges_.find(test);
  if (judge == nullptr) {
    ++not_judged_[test.kind + " " +
                  (test.call.empty() ? test.subject : test.subject + " (" + test.call + ")")];
    return;
  }
  Differences differences = (*judge)(document);
  auto reason = reasons_.find(test.id);
  Count& count = counts_[row];
  if (reason != reasons_.end()) {
    listed_.insert(test.id);
    if (!differences.empty()) {
      ++count.differing;
      if (!options_.only.empty()) failed(test, differences);
      return;
    }
    differences.push_back("is as recorded now; drop it from the list of differences");
  }
  if (differences.empty()) {
    ++count.passed;
    passed_.insert(test.id);
    return;
  }
  ++count.failed;
  failed(test, differences);
}

void Run::failed(const Case& test, const Differences& differences) {
  std::printf("%s %s\n", reasons_.contains(test.id) ? "DIFFERS" : "FAILED", test.id.c_str());
  if (reasons_.contains(test.id)) std::printf("  because: %s\n", reasons_[test.id].c_str());
  for (const std::string& d : differences) std::printf("  %s\n", d.c_str());
}

void Run::report() {
  for (const auto& [kind, count] : counts_)
    std::printf("%-40s %5zu passed, %zu failed, %zu differing\n", kind.c_str(), count.passed,
                count.failed, count.differing);
  size_t apart = 0;
  for (const auto& [what, count] : without_counterpart_) {
    std::printf("no counterpart: %s: %zu (%s)\n", what.c_str(), count,
                no_counterpart_[what].c_str());
    apart += count;
  }
  if (apart != 0) std::printf("no counterpart: %zu\n", apart);
  size_t missing = 0;
  for (const auto& [what, count] : not_judged_) {
    std::printf("NOT JUDGED: %s: %zu\n", what.c_str(), count);
    missing += count;
  }
  if (missing != 0) std::printf("NOT JUDGED in all: %zu\n", missing);
}

int Run::go() {
  if (!load(options_.differences, reasons_) || !load(options_.no_counterpart, no_counterpart_))
    return 2;
  std::vector<fs::path> files;
  for (const fs::path& path : options_.paths) {
    if (fs::is_directory(path)) {
      for (const auto& entry : fs::recursive_directory_iterator(path))
        if (entry.is_regular_file() && entry.path().extension() == ".json")
          files.push_back(entry.path());
    } else if (fs::exists(path)) {
      files.push_back(path);
    } else {
      std::fprintf(stderr, "no such folder or file: %s\n", path.c_str());
      return 2;
    }
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& path : files) file(path);
  report();
  size_t passed = passed_.size(), failed = unreadable_;
  for (const auto& [kind, count] : counts_) failed += count.failed;
  int code = failed == 0 ? 0 : 1;
  if (!options_.passing.empty()) {
    std::set<std::string> known = lines_of(options_.passing);
    size_t lost = 0;
    for (const std::string& id : known)
      if (options_.only.empty() && !passed_.contains(id)) {
        std::printf("PASSED BEFORE: %s\n", id.c_str());
        ++lost;
      }
    code = lost == 0 && unreadable_ == 0 ? 0 : 1;
    if (failed > lost) std::printf("NOT HELD: %zu fail that never passed\n", failed - lost);
    failed = lost + unreadable_;
    if (options_.update) {
      known.insert(passed_.begin(), passed_.end());
      std::ofstream out(options_.passing);
      out << "# Vectors that pass. Only grows; `vectors --passing FILE --update` adds to it.\n";
      for (const std::string& id : known) out << id << "\n";
    }
  }
  std::printf("%zu passed, %zu failed\n", passed, failed);
  return code;
}

}  // namespace
}  // namespace kueue::vectors

int main(int argc, char** argv) {
  kueue::vectors::Options options;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    std::string* value = arg == "--only"             ? &options.only
                         : arg == "--differences"    ? &options.differences
                         : arg == "--no-counterpart" ? &options.no_counterpart
                         : arg == "--passing"        ? &options.passing
                                                     : nullptr;
    if (value != nullptr && i + 1 < argc) {
      *value = argv[++i];
    } else if (arg == "--update") {
      options.update = true;
    } else if (arg.starts_with("-")) {
      std::fprintf(stderr, "unknown or incomplete option %s\n", arg.c_str());
      return 2;
    } else {
      options.paths.emplace_back(arg);
    }
  }
  if (options.paths.empty()) {
    std::fprintf(stderr,
                 "usage: vectors DIR... [--only ID] [--differences FILE] [--no-counterpart FILE] "
                 "[--passing FILE [--update]]\n");
    return 2;
  }
  return kueue::vectors::Run(std::move(options)).go();
}
