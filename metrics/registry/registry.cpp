#include "metrics/registry/registry.hpp"

#include "metrics/registry/detail/families.hpp"
#include "metrics/registry/names.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

namespace troupe::metrics {

namespace {

double since_epoch(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

} // namespace

struct Registry::Values : Families {
  void tell_as(bool leader);
  void forget_generation();
  void add_time_trained(double seconds);
  template <class Record, class... Labels>
  void export_fields(const Record& record, const Labels&... labels);
  void update(const FieldTraits& field, double value, LabelValues labels);

  std::mutex changing; ///< guards the members below, and prevents exports of two phases or none
  bool leads = false;  ///< this node leads the job
  RankRange ranks = {};
  double operations_per_step = 0, tokens_per_sample = 0;
  std::int64_t steps_done = 0, steps_left = 0;
  double seconds_trained = 0; ///< including evaluations and pauses
};

/// Exports the fields that have a metric. `labels` come before the field's own.
template <class Record, class... Labels>
void Registry::Values::export_fields(const Record& record, const Labels&... labels) {
  for_each_field<Record>([&](const auto& field) {
    const auto& traits = field.traits;
    const auto value = traits.metric.name.empty() ? std::nullopt : number_of(field, record);
    if (!value)
      return;
    if (traits.label.empty())
      update(traits, *value, {labels...});
    else
      update(traits, *value, {labels..., traits.label});
  });
}

void Registry::Values::update(const FieldTraits& field, double value, LabelValues labels) {
  if (field.metric.type == MetricType::gauge)
    set(field.metric, value, labels);
  else if (field.metric.type == MetricType::histogram)
    observe(field.metric, value);
  else if (field.is_total)
    raise(field.metric, value, labels);
  else
    add(field.metric, value, labels);
}

Registry::Registry(const RunInfo& run, bool leads) : values_(std::make_unique<Values>()) {
  auto& v = *values_;
  v.set(names::build_info, 1, {run.version});
  v.set(names::run_info, 1,
        {run.name, run.model, run.dataset, to_string(run.strategy), run.precision});
  v.tell_as(leads);
  v.begin(names::unreadable_samples);
}

Registry::~Registry() = default;

/// A new leader does not continue the totals of the previous one, so a node that stops leading
/// removes them.
void Registry::Values::tell_as(bool leader) {
  if (std::exchange(leads, leader) == leader)
    return;
  for (const auto& metric : names::all()) {
    if (metric.teller != Teller::leader)
      continue;
    if (!leader)
      forget(metric);
    else if (metric.type != MetricType::gauge && metric.labels.front().empty())
      begin(metric);
  }
}

/// Removes a rank's counters: they start at zero in each generation.
void Registry::Values::forget_generation() {
  for (const auto& metric : names::all())
    if (ends_with_generation(metric))
      forget(metric);
  forget(names::world_size);
}

void Registry::end_generation() {
  auto& v = *values_;
  const std::lock_guard lock{v.changing};
  v.forget_generation();
}

void Registry::begin(const RunInfo& run, bool leads, const RankRange& ranks) {
  auto& v = *values_;
  const std::lock_guard lock{v.changing};
  v.ranks = ranks;
  v.forget_generation();
  v.tell_as(leads);
  v.set(names::start_time, since_epoch(run.started));
  v.set(names::world_size, run.world_size);
  if (!leads)
    return;
  v.set(names::step, static_cast<double>(run.first_step));
  v.set(names::last_step, static_cast<double>(run.total_steps));
  v.set(names::checkpoint_step, static_cast<double>(run.first_step));
  if (run.checkpoint_interval > 0)
    v.set(names::checkpoint_interval, static_cast<double>(run.checkpoint_interval));
  v.operations_per_step = run.operations_per_step;
  v.tokens_per_sample = static_cast<double>(run.tokens_per_sample);
  v.steps_left = run.total_steps - run.first_step;
}

void Registry::record(const StepRecord& step) {
  auto& v = *values_;
  v.export_fields(step);
  v.set(names::epoch, static_cast<double>(step.epoch + 1));
  v.set(names::step, static_cast<double>(step.step + 1));
  v.set(names::loss_scale, step.loss_scale.value_or(1));
  v.add(names::steps, 1);
  for (std::size_t i = 0; i < step.collectives.size(); ++i)
    if (const auto& use = step.collectives[i]; use != CollectiveUse{}) {
      const auto kind = collective_kind_names[i];
      v.add(names::collective_bytes, static_cast<double>(use.bytes), {kind});
      v.add(names::collective_time, use.seconds, {kind});
    }
  const std::lock_guard lock{v.changing};
  v.add(names::operations, v.operations_per_step);
  v.add(names::tokens, v.tokens_per_sample * static_cast<double>(step.samples));
  ++v.steps_done;
  --v.steps_left;
  v.add_time_trained(step.seconds);
}

void Registry::Values::add_time_trained(double seconds) {
  seconds_trained += seconds;
  if (const auto left = static_cast<double>(steps_left) * seconds_trained; steps_done > 0)
    set(names::time_left, std::max(0.0, left / static_cast<double>(steps_done)));
}

void Registry::record(const EpochRecord& epoch) {
  auto& v = *values_;
  v.export_fields(epoch);
  if (!epoch.test_seconds)
    return;
  const std::lock_guard lock{v.changing};
  v.add_time_trained(*epoch.test_seconds);
}

void Registry::record(const WorkerSummary& worker) {
  auto& v = *values_;
  const std::lock_guard lock{v.changing};
  if (!v.ranks.contains(worker.rank))
    return;
  const auto rank = std::to_string(worker.rank);
  v.export_fields(worker, rank);
  for (std::size_t i = 0; i < memory_kinds; ++i) {
    const auto kind = to_string(static_cast<MemoryKind>(i));
    v.set(names::memory, static_cast<double>(worker.memory.current[i]), {rank, kind});
    v.set(names::memory_peak, static_cast<double>(worker.memory.peak[i]), {rank, kind});
  }
  v.set(names::memory_total, static_cast<double>(worker.memory.total), {rank});
  v.set(names::memory_total_peak, static_cast<double>(worker.memory.total_peak), {rank});
  if (worker.memory_limit_bytes > 0)
    v.set(names::memory_limit, static_cast<double>(worker.memory_limit_bytes), {rank});
  if (worker.peak_operations > 0)
    v.set(names::peak_operations, worker.peak_operations, {rank});
}

void Registry::record(const MailboxSample& sample) {
  values_->export_fields(sample, sample.actor);
}

void Registry::record(const LoaderSample& sample) {
  values_->export_fields(sample);
}

void Registry::record(const std::vector<HostMemory>& memory) {
  auto& v = *values_;
  const std::lock_guard lock{v.changing};
  v.forget(names::host_memory);
  v.forget(names::host_memory_limit);
  for (const auto& each : memory) {
    v.set(names::host_memory, each.bytes, {each.limit});
    v.set(names::host_memory_limit, each.limit_bytes, {each.limit});
  }
}

void Registry::record(const GpuSample& gpu) {
  values_->export_fields(gpu, std::to_string(gpu.rank), gpu.gpu);
}

void Registry::record_unreadable(std::int64_t samples) {
  values_->raise(names::unreadable_samples, static_cast<double>(samples));
}

void Registry::record(const CheckpointRecord& checkpoint) {
  auto& v = *values_;
  if (checkpoint.failure)
    return v.add(names::checkpoint_failures, 1);
  v.export_fields(checkpoint);
  v.add(names::checkpoints, 1);
  v.set(names::checkpoint_written, since_epoch(std::chrono::system_clock::now()));
  const std::lock_guard lock{v.changing};
  v.add_time_trained(checkpoint.pause_seconds);
}

void Registry::record(const RecoveryRecord& recovery) {
  if (!recovery.is_loss)
    return;
  values_->add(names::recoveries, 1);
  values_->observe(names::recovery_time, recovery.seconds());
}

void Registry::set_generation(std::int64_t number) {
  values_->set(names::generation, static_cast<double>(number));
}

void Registry::record_failed_loss(double loss) {
  values_->set(names::loss, loss, {"train"});
}

void Registry::set_phase(JobPhase phase) {
  auto& v = *values_;
  const std::lock_guard lock{v.changing};
  for (const auto name : job_phase_names)
    v.set(names::phase, name == to_string(phase) ? 1 : 0, {name});
  v.set(names::ready, is_at_work(phase) ? 1 : 0);
}

void Registry::record_failure(std::string_view kind) {
  values_->set(names::last_error, 1, {kind});
}

void Registry::record_heartbeat(std::string_view peer) {
  values_->set(names::heartbeat_time, since_epoch(std::chrono::system_clock::now()), {peer});
}

std::string Registry::text() const {
  const auto use = process_use();
  const std::lock_guard lock{values_->changing};
  if (use)
    values_->export_fields(*use);
  return values_->text();
}

} // namespace troupe::metrics
