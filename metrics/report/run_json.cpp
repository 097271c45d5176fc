#include "metrics/report/run_json.hpp"

#include "metrics/report/detail/record_json.hpp"
#include "metrics/report/detail/record_reader.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace troupe::metrics {

std::string to_json(const StepRecord& step) {
  return dumped(to_value(step));
}

std::string to_json(const EpochRecord& epoch) {
  return dumped(to_value(epoch));
}

std::string to_json(const RecoveryRecord& recovery) {
  return dumped(to_value(recovery));
}

std::string to_json(const GeneratedRecord& generated) {
  return dumped(to_value(generated));
}

std::string to_json(const RunInfo& run) {
  return dumped(to_value(run), 2) + "\n";
}

std::string to_json(const RunSummary& summary) {
  return dumped(to_value(summary), 2) + "\n";
}

std::optional<StepRecord> parse_step(std::string_view json) {
  constexpr auto none = std::numeric_limits<std::int64_t>::min();
  auto step = unknown_value<StepRecord>();
  step.step = none;
  const bool is_read = read_object(json, Place::of(step), "step");
  return is_read && step.step != none ? std::optional{std::move(step)} : std::nullopt;
}

std::optional<EpochRecord> parse_epoch(std::string_view json) {
  return read_record<EpochRecord>(json, "epoch");
}

std::optional<RecoveryRecord> parse_recovery(std::string_view json) {
  return read_record<RecoveryRecord>(json, "generation");
}

std::optional<GeneratedRecord> parse_generated(std::string_view json) {
  return read_record<GeneratedRecord>(json, "text");
}

std::optional<RunInfo> parse_run_info(std::string_view json) {
  auto run = read_record<RunInfo>(json, "total_steps");
  if (run && run->sample_name.empty()) // in files of earlier versions
    run->sample_name = RunInfo{}.sample_name;
  return run;
}

std::optional<RunSummary> parse_summary(std::string_view json) {
  auto summary = read_record<RunSummary>(json, "status");
  if (!summary)
    return std::nullopt;
  summary->sample_name = RunInfo{}.sample_name; // only run.json has it
  if (std::isnan(summary->checkpoint_seconds))  // in files of earlier versions
    summary->checkpoint_seconds = 0;
  for (auto& worker : summary->workers)
    worker.memory.total_peak = worker.peak_memory_bytes;
  return summary;
}

} // namespace troupe::metrics
