#include "actors/roles/detail/run_log.hpp"

#include "metrics/number_format.hpp"
#include "metrics/records/checkpoint.hpp"
#include "metrics/records/recovery.hpp"

#include <spdlog/spdlog.h>

namespace troupe::actors {

namespace {

double mib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

} // namespace

void RunLog::introduce(const training::Job& job, const metrics::RunInfo& info) {
  log_->info("{}: {}", info.precision, job.arithmetic);
  if (const auto& recompute = info.recompute)
    log_->info(
        "recompute: activations of {:.1f} MiB instead of {:.1f} MiB, {:.1f}% more operations",
        mib(recompute->activation_bytes), mib(recompute->activation_bytes_without),
        100 * recompute->operations_ratio);
}

void RunLog::record(const metrics::RecoveryRecord& recovery) {
  log_->info("generation {} resumed training after {}; {} step{} repeated; reason: {}",
             recovery.generation, metrics::format_seconds(recovery.seconds()),
             recovery.steps_repeated, recovery.steps_repeated == 1 ? "" : "s", recovery.reason);
}

void RunLog::record(const metrics::CheckpointRecord& checkpoint) {
  if (checkpoint.failure)
    log_->error("the checkpoint of step {} was not written: {}", checkpoint.step,
                checkpoint.failure->to_string());
  else
    log_->debug("checkpoint of step {} written in {:.3f} s", checkpoint.step, checkpoint.seconds);
}

void RunLog::record(const metrics::WorkerSummary& worker) {
  if (ranks_.contains(worker.rank))
    log_->debug("rank {} on {}: peak memory {:.1f} MiB, busy for {:.0f}% of its steps' time",
                worker.rank, worker.device, mib(worker.peak_memory_bytes), 100 * worker.busy_ratio);
}

} // namespace troupe::actors
