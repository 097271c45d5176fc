#include "metrics/registry/registry.hpp"

#include "metrics/machine/process_use.hpp"
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
  void set_process(const ProcessUse& use);
  void set_time_left();

  std::mutex changing; ///< guards the members below, and prevents exports of two phases or none
  bool leads = false;  ///< this node leads the job
  double operations_per_step = 0, tokens_per_sample = 0;
  std::int64_t steps_done = 0, steps_left = 0;
  double seconds_trained = 0; ///< including evaluations and pauses
};

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
  for (const auto& metric : names::all) {
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
  for (const auto& metric : names::all)
    if (ends_with_generation(metric))
      forget(metric);
  forget(names::world_size);
}

void Registry::end_generation() {
  auto& v = *values_;
  const std::lock_guard lock{v.changing};
  v.forget_generation();
}

void Registry::begin(const RunInfo& run, bool leads) {
  auto& v = *values_;
  const std::lock_guard lock{v.changing};
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
  v.set(names::loss, step.loss, {"train"});
  v.set(names::accuracy, step.accuracy, {"train"});
  v.set(names::gradient_norm, step.gradient_norm);
  v.set(names::drift, step.drift);
  if (step.round_bytes > 0)
    v.set(names::round_bytes, static_cast<double>(step.round_bytes));
  v.set(names::staleness, step.staleness);
  v.set(names::item_time, step.item_seconds);
  v.set(names::lease_time, step.item_seconds);
  v.set(names::learning_rate, step.lr);
  v.set(names::epoch, static_cast<double>(step.epoch + 1));
  v.set(names::step, static_cast<double>(step.step + 1));
  v.add(names::steps, 1);
  v.add(names::samples, static_cast<double>(step.samples));
  v.observe(names::step_time, step.seconds);
  v.add(names::data_wait, step.data_wait_seconds);
  for (std::size_t i = 0; i < step.collectives.size(); ++i)
    if (const auto& use = step.collectives[i]; use != CollectiveUse{}) {
      const auto kind = collective_kind_names[i];
      v.add(names::collective_bytes, static_cast<double>(use.bytes), {kind});
      v.add(names::collective_time, use.seconds, {kind});
    }
  v.set(names::overlap, step.overlap_ratio);
  v.set(names::loss_scale, step.loss_scale.value_or(1));
  v.raise(names::skipped_steps, static_cast<double>(step.skipped_steps));
  v.raise(names::scale_growths, static_cast<double>(step.scale_growths));
  const std::lock_guard lock{v.changing};
  v.add(names::operations, v.operations_per_step);
  v.add(names::tokens, v.tokens_per_sample * static_cast<double>(step.samples));
  v.seconds_trained += step.seconds;
  ++v.steps_done;
  --v.steps_left;
  v.set_time_left();
}

void Registry::Values::set_time_left() {
  if (const auto left = static_cast<double>(steps_left) * seconds_trained; steps_done > 0)
    set(names::time_left, std::max(0.0, left / static_cast<double>(steps_done)));
}

void Registry::record(const EpochRecord& epoch) {
  auto& v = *values_;
  v.set(names::loss, epoch.test_loss, {"test"});
  v.set(names::accuracy, epoch.test_accuracy, {"test"});
  if (!epoch.test_seconds)
    return;
  v.observe(names::evaluation_time, *epoch.test_seconds);
  const std::lock_guard lock{v.changing};
  v.seconds_trained += *epoch.test_seconds;
  v.set_time_left();
}

void Registry::record(const WorkerSummary& worker) {
  auto& v = *values_;
  const auto rank = std::to_string(worker.rank);
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
  v.set(names::busy, worker.busy_ratio, {rank});
  v.set(names::ready_batches, static_cast<double>(worker.ready_batches), {rank});
  v.raise(names::rank_steps, static_cast<double>(worker.steps), {rank});
  v.raise(names::rank_time, worker.compute_seconds, {rank, "compute"});
  v.raise(names::rank_time, worker.data_wait_seconds, {rank, "data"});
  v.raise(names::rank_time, worker.collective_seconds, {rank, "collectives"});
  v.raise(names::rank_time, worker.optimizer_seconds, {rank, "optimizer"});
}

void Registry::record(const MailboxSample& sample) {
  auto& v = *values_;
  v.set(names::mailbox_size, static_cast<double>(sample.size), {sample.actor});
  v.raise(names::mailbox_messages, static_cast<double>(sample.messages), {sample.actor});
  v.raise(names::mailbox_time, sample.seconds, {sample.actor});
  v.raise(names::processing_time, sample.processing_seconds, {sample.actor});
}

void Registry::record(const LoaderSample& sample) {
  auto& v = *values_;
  v.raise(names::loader_batches, static_cast<double>(sample.batches));
  v.raise(names::loader_time, sample.seconds);
  v.raise(names::decode_time, sample.decode_seconds);
}

void Registry::record(const std::vector<HostMemory>& memory) {
  auto& v = *values_;
  const std::lock_guard lock{v.changing};
  for (const auto* limit : memory_limits)
    for (const auto* metric : {&names::host_memory, &names::host_memory_limit})
      v.forget(*metric, {limit});
  for (const auto& each : memory) {
    v.set(names::host_memory, each.bytes, {each.limit});
    v.set(names::host_memory_limit, each.limit_bytes, {each.limit});
  }
}

void Registry::record(const GpuSample& gpu) {
  auto& v = *values_;
  const auto rank = std::to_string(gpu.rank);
  v.set(names::gpu_busy, gpu.busy_ratio, {rank, gpu.gpu});
  v.set(names::gpu_power, gpu.power_watts, {rank, gpu.gpu});
  v.set(names::gpu_temperature, gpu.temperature_celsius, {rank, gpu.gpu});
  v.set(names::gpu_clock, gpu.sm_hertz, {rank, gpu.gpu, "sm"});
  v.set(names::gpu_clock, gpu.memory_hertz, {rank, gpu.gpu, "memory"});
  v.set(names::gpu_memory, gpu.memory_bytes, {rank, gpu.gpu});
  v.set(names::gpu_memory_total, gpu.memory_total_bytes, {rank, gpu.gpu});
}

void Registry::record_unreadable(std::int64_t samples) {
  values_->raise(names::unreadable_samples, static_cast<double>(samples));
}

void Registry::record(const CheckpointRecord& checkpoint) {
  auto& v = *values_;
  v.add(names::checkpoints, 1);
  v.observe(names::checkpoint_time, checkpoint.seconds);
  v.observe(names::save_time, checkpoint.pause_seconds);
  v.set(names::checkpoint_step, static_cast<double>(checkpoint.step));
  v.set(names::checkpoint_bytes, static_cast<double>(checkpoint.bytes));
  v.set(names::checkpoint_written, since_epoch(std::chrono::system_clock::now()));
  const std::lock_guard lock{v.changing};
  v.seconds_trained += checkpoint.pause_seconds;
  v.set_time_left();
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

void Registry::record_checkpoint_failure() {
  values_->add(names::checkpoint_failures, 1);
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

void Registry::Values::set_process(const ProcessUse& use) {
  raise(names::process_cpu, use.cpu_seconds);
  set(names::process_resident, use.resident_bytes);
  set(names::process_virtual, use.virtual_bytes);
  set(names::process_start, use.start_time);
  set(names::process_open_files, use.open_files);
  set(names::process_most_files, use.most_files);
  set(names::process_threads, use.threads);
}

std::string Registry::text() const {
  const auto use = process_use();
  const std::lock_guard lock{values_->changing};
  if (use)
    values_->set_process(*use);
  return values_->text();
}

} // namespace troupe::metrics
