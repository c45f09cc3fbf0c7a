#include "controllers/jobs/batch_job/batch_job.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "api/batch.h"
#include "controllers/folds.h"
#include "controllers/jobs/pod_set_info.h"
#include "controllers/names.h"
#include "json/json.h"
#include "schema/codec.h"

namespace kueue::controllers::jobs {
namespace {

namespace batch = api::batch;

constexpr std::string_view kPodSetName = "main";
constexpr size_t kKeptOpen = 256;  // Jobs that were looked at last
// Labels that the API server puts into the template and that cannot be changed.
constexpr std::string_view kJobNameLabel = "job-name";
constexpr std::string_view kControllerUidLabel = "controller-uid";
constexpr std::string_view kBatchJobNameLabel = "batch.kubernetes.io/job-name";
constexpr std::string_view kBatchControllerUidLabel = "batch.kubernetes.io/controller-uid";

using IndexRange = std::pair<int64_t, int64_t>;  // inclusive

std::vector<IndexRange> parse_ranges(std::string_view text) {
  std::vector<IndexRange> ranges;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const size_t dash = part.find('-');
    const std::string_view first = part.substr(0, dash);
    const std::string_view last = dash == std::string_view::npos ? first : part.substr(dash + 1);
    IndexRange range;
    const auto a = std::from_chars(first.data(), first.data() + first.size(), range.first);
    const auto b = std::from_chars(last.data(), last.data() + last.size(), range.second);
    if (a.ec != std::errc() || b.ec != std::errc() || range.second < range.first) continue;
    ranges.push_back(range);
  }
  return ranges;
}

int64_t count_union(std::vector<IndexRange> ranges, int64_t completions) {
  std::sort(ranges.begin(), ranges.end());
  int64_t count = 0;
  int64_t next = 0;  // lowest index not counted yet
  for (const auto& [first, last] : ranges) {
    const int64_t from = std::max(first, next);
    const int64_t to = std::min(last, completions - 1);
    if (to >= from) {
      count += to - from + 1;
      next = to + 1;
    }
  }
  return count;
}

class BatchJob final : public Job {
 public:
  BatchJob(std::shared_ptr<const batch::Job> job, const FeatureGates& gates)
      : job_(std::move(job)), gates_(gates) {}

  const api::meta::ObjectMeta& metadata() const override { return job_->metadata; }
  json::Value document() const override { return schema::encode(*job_); }

  bool suspended() const override { return suspend() && !marked(); }
  bool stopping() const override { return suspend() && marked(); }
  bool active() const override { return job_->status.active.value_or(0) != 0; }

  std::optional<Completion> finished() const override {
    for (const batch::JobCondition& condition : job_->status.conditions) {
      if (condition.status != "True") continue;
      if (condition.type == "Complete") return Completion{true, condition.message};
      if (condition.type == "Failed") return Completion{false, condition.message};
    }
    return std::nullopt;
  }

  bool pods_ready() const override {
    const batch::JobStatus& status = job_->status;
    int64_t ready = int64_t{status.succeeded.value_or(0)} + status.ready.value_or(0);
    if (status.uncounted_terminated_pods.has_value())
      ready += static_cast<int64_t>(status.uncounted_terminated_pods->succeeded.size());
    return ready >= pods_count();
  }

  Result<std::vector<v1beta2::PodSet>> pod_sets() const override {
    v1beta2::PodSet pod_set;
    pod_set.name = kPodSetName;
    api::core::PodTemplateSpec& pod = pod_set.template_.edit();
    pod.metadata.labels = job_->spec.template_.metadata.labels;
    pod.metadata.annotations = job_->spec.template_.metadata.annotations;
    pod.spec = job_->spec.template_.spec;
    // The label with the job's name stays: it is part of what users select by.
    for (std::string_view label : {kJobNameLabel, kControllerUidLabel, kBatchControllerUidLabel})
      pod.metadata.labels.erase(std::string(label));
    pod_set.count = pods_count();
    if (gates_.on(Gate::kPartialAdmission)) pod_set.min_count = min_parallelism();
    KUEUE_ASSIGN(pod_set.topology_request,
                 topology_request(job_->spec.template_,
                                  {.pod_index_label = kJobCompletionIndexLabel}, gates_));
    std::vector<v1beta2::PodSet> pod_sets;
    pod_sets.push_back(std::move(pod_set));
    return pod_sets;
  }

  std::vector<v1beta2::ReclaimablePod> reclaimable_pods() const override {
    // Of the pods that are charged: a parallelism beyond what is to be completed gives nothing
    // back.
    const int32_t pods = pods_count();
    const batch::JobStatus& status = job_->status;
    if (pods == 1 || status.succeeded.value_or(0) == 0) return {};
    const int64_t completions = job_->spec.completions.value_or(pods);
    int64_t ended = status.succeeded.value_or(0);
    if (job_->spec.completion_mode == "Indexed")
      ended = ended_indexes(status.completed_indexes, status.failed_indexes, completions);
    const int64_t remaining = completions - ended;
    if (remaining >= pods) return {};
    v1beta2::ReclaimablePod pod;
    pod.name = kPodSetName;
    pod.count = static_cast<int32_t>(pods - std::max<int64_t>(remaining, 0));
    return {std::move(pod)};
  }

  Result<json::Value> started(const std::vector<PodSetInfo>& infos) const override {
    if (infos.size() != 1)
      return make_error(ErrorCode::kInvalid, "invalid podset infos: expecting 1 podset, got " +
                                                 std::to_string(infos.size()));
    batch::Job copy = *job_;
    copy.spec.suspend = false;
    if (min_parallelism().has_value()) {
      copy.spec.parallelism = infos[0].count;
      if (syncs_completions()) copy.spec.completions = copy.spec.parallelism;
    }
    KUEUE_TRY(merge_info(copy.spec.template_, infos[0], gates_));
    return schema::encode(copy);
  }

  json::Value suspended_document() const override {
    batch::Job copy = *job_;
    copy.spec.suspend = true;
    return schema::encode(copy);
  }

  StopStep stop(const std::vector<PodSetInfo>& original) const override {
    batch::Job copy = *job_;
    if (!suspend()) {
      copy.spec.suspend = true;
      copy.metadata.annotations[std::string(kStoppingAnnotation)] = "true";
      return {StopStep::Kind::kWrite, schema::encode(copy), false};
    }
    // Suspended by whom ever: pods of the past must not shape those of the next start.
    if (job_->status.start_time.has_value() && (marked() || original.size() == 1)) {
      copy.status.start_time.reset();
      return {StopStep::Kind::kWrite, schema::encode(copy), true};
    }
    copy.metadata.annotations.erase(std::string(kStoppingAnnotation));
    if (original.size() == 1) {
      if (min_parallelism().has_value() && original[0].count != pods_count()) {
        copy.spec.parallelism = original[0].count;
        if (syncs_completions()) copy.spec.completions = copy.spec.parallelism;
      }
      restore_info(copy.spec.template_, original[0], kept_labels());
    }
    json::Value target = schema::encode(copy);
    if (target == document()) return {};
    // The template may change only when no pod is left.
    if (active()) return {StopStep::Kind::kWait, {}, false};
    return {StopStep::Kind::kWrite, std::move(target), false};
  }

  bool left_from_start(const std::vector<PodSetInfo>& original,
                       const std::vector<PodSetInfo>& infos) const override {
    return original.size() == 1 &&
           holds_other_start(job_->spec.template_, original[0],
                             infos.size() == 1 ? infos.data() : nullptr, kept_labels(), gates_);
  }

 private:
  static std::vector<std::string_view> kept_labels() {
    return {kJobNameLabel, kControllerUidLabel, kBatchJobNameLabel, kBatchControllerUidLabel};
  }
  bool suspend() const { return job_->spec.suspend.value_or(false); }
  bool marked() const { return job_->metadata.annotations.contains(kStoppingAnnotation); }
  int32_t pods_count() const {
    const int32_t parallelism = job_->spec.parallelism.value_or(1);
    return std::min(parallelism, job_->spec.completions.value_or(parallelism));
  }
  std::optional<int32_t> min_parallelism() const {
    auto found = job_->metadata.annotations.find(kMinParallelismAnnotation);
    if (found == job_->metadata.annotations.end()) return std::nullopt;
    int32_t value = 0;
    const std::string& text = found->second;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
    return value;
  }
  bool syncs_completions() const {
    auto found = job_->metadata.annotations.find(kCompletionsSyncAnnotation);
    return found != job_->metadata.annotations.end() && found->second == "true";
  }

  std::shared_ptr<const batch::Job> job_;
  const FeatureGates& gates_;
};

class BatchJobKind final : public JobKind {
 public:
  BatchJobKind(std::shared_ptr<kube::Client> client, kube::Executor& executor,
               const FeatureGates& gates)
      : resource_(kube::Resource::of(batch::Job::resource())),
        jobs_(std::move(client), executor, resource_,
              [this](json::Value& document, FoldedJob& job) { return fold(document, job); }),
        gates_(gates) {}

  std::string_view framework() const override { return "batch/job"; }
  std::string_view controller() const override { return "job"; }
  const kube::Resource& resource() const override { return resource_; }
  kube::InformerCore& store() override { return jobs_.core(); }
  void watch(std::function<void(const kube::ObjectKey&)> changed) override {
    jobs_.add_handler([changed = std::move(changed)](const auto& old, const auto& now) {
      changed((now != nullptr ? now : old)->key);
    });
  }
  std::vector<kube::ObjectKey> keys() const override {
    std::vector<kube::ObjectKey> keys;
    for (const auto& job : jobs_.list()) keys.push_back(job->key);
    return keys;
  }
  std::unique_ptr<Job> get(const kube::ObjectKey& key) const override {
    const auto job = jobs_.get(key);
    return job == nullptr ? nullptr : std::make_unique<BatchJob>(job->source->open(), gates_);
  }

 private:
  // How a Job lies in the store: most of them wait, and nobody looks at them.
  struct FoldedJob {
    kube::ObjectKey key;
    std::shared_ptr<const Folds<batch::Job>::Source> source;
  };

  Result<void> fold(const json::Value& document, FoldedJob& folded) {
    batch::Job job;
    KUEUE_TRY(schema::decode_value(schema::value_binding<batch::Job>, document, &job));
    folded.key = {job.metadata.namespace_, job.metadata.name};
    folded.source = folds_.fold(json::write(document), std::move(job));
    return {};
  }

  kube::Resource resource_;
  Folds<batch::Job> folds_{kKeptOpen};
  kube::Informer<FoldedJob> jobs_;
  const FeatureGates& gates_;
};

}  // namespace

std::unique_ptr<JobKind> make_batch_job_kind(std::shared_ptr<kube::Client> client,
                                             kube::Executor& executor, const FeatureGates& gates) {
  return std::make_unique<BatchJobKind>(std::move(client), executor, gates);
}

int64_t ended_indexes(std::string_view completed, std::string_view failed, int64_t completions) {
  std::vector<IndexRange> ranges = parse_ranges(completed);
  for (const IndexRange& range : parse_ranges(failed)) ranges.push_back(range);
  return count_union(std::move(ranges), completions);
}

}  // namespace kueue::controllers::jobs
