#include "actors/roles/detail/run_log.hpp"

#include "metrics/number_format.hpp"
#include "metrics/records/checkpoint.hpp"
#include "metrics/records/recovery.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string_view>

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

void RunLog::watch(const training::Job& job) {
  const auto watch = [this](const auto& batches, std::string_view use) {
    if (!batches)
      return;
    const auto& adapter = batches->adapter();
    if (const auto text = adapter.dataset().left_out().unread_text(); !text.empty())
      log_->warn("{} data ({}): {}", use, adapter.dataset().name(), text);
    if (auto files = adapter.unreadable())
      unreadable_.push_back(std::move(files));
    if (auto files = adapter.damaged())
      damaged_.push_back(std::move(files));
  };
  watch(job.training, "training");
  watch(job.evaluation, "evaluation");
}

void RunLog::log_skipped() {
  const auto warn = [this](auto& files) {
    for (const auto& line : files->take_lines())
      log_->warn("{}", line);
  };
  std::ranges::for_each(unreadable_, warn);
  std::ranges::for_each(damaged_, warn);
}

void RunLog::log_all_skipped() const {
  const auto [samples, files] = skipped();
  if (samples > 0)
    log_->warn("skipped {} sample{} of {} unreadable file{}; `troupe data check` lists them",
               samples, samples == 1 ? "" : "s", files, files == 1 ? "" : "s");
}

data::FileNotes::Counts RunLog::skipped() const {
  data::FileNotes::Counts all;
  for (const auto& files : unreadable_) {
    const auto counts = files->counts();
    all.samples += counts.samples;
    all.files += counts.files;
  }
  return all;
}

} // namespace troupe::actors
