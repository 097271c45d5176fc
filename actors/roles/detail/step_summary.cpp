#include "actors/roles/detail/step_summary.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::actors {

namespace {

std::optional<double> staleness_of(std::span<const StepReport> reports) {
  double lacked = 0, reads = 0;
  for (const auto& report : reports)
    for (const auto& read : report.reads) {
      lacked += static_cast<double>(report.worker.step - read.read);
      ++reads;
    }
  return reads > 0 ? std::optional{lacked / reads} : std::nullopt;
}

} // namespace

metrics::StepRecord summarize(std::span<const StepReport> reports, CollectiveTime& collective) {
  metrics::StepRecord record;
  record.step = reports.front().worker.step;
  const auto ranks = static_cast<double>(reports.size());
  Right right;
  for (const auto& report : reports) {
    const auto& worker = report.worker;
    record.loss += worker.loss / ranks;
    record.samples += worker.samples;
    record.data_wait_seconds = std::max(record.data_wait_seconds, seconds(worker.data_wait));
    record.compute_seconds += seconds(worker.busy) / ranks;
    record.optimizer_seconds += seconds(report.optimizer) / ranks;
    right.add(worker.right);
    for (std::size_t kind = 0; kind < report.collectives.size(); ++kind) {
      const auto& [bytes, time] = report.collectives[kind];
      record.collectives[kind].bytes += bytes;
      record.collectives[kind].seconds += seconds(time) / ranks;
      record.collective_bytes += bytes;
      collective.total += seconds(time);
    }
    collective.overlapped += seconds(report.overlapped);
    record.round_bytes += report.round_bytes;
  }
  static_cast<metrics::LossScaling&>(record) = reports.front().loss_scaling;
  if (const auto squared = reports.front().squared_norm; !(squared < 0)) // also true for NaN
    record.gradient_norm = std::sqrt(squared);
  if (const auto drift = reports.front().drift; !(drift < 0))
    record.drift = drift;
  record.staleness = staleness_of(reports);
  record.accuracy = right.ratio();
  record.collective_seconds = collective.total / ranks;
  record.overlap_ratio = ratio(collective.overlapped, collective.total);
  return record;
}

metrics::LossScaling loss_scaling_of(const LossScaleState& state) {
  return {.loss_scale = double{state.scale},
          .skipped_steps = state.skipped,
          .scale_growths = state.grown};
}

std::chrono::nanoseconds collective_time(const StepReport& report) {
  std::chrono::nanoseconds sum{};
  for (const auto& request : report.collectives)
    sum += request.time;
  return sum;
}

EvaluationReport total(std::span<const EvaluationReport> reports) {
  EvaluationReport all{.step = reports.front().step};
  for (const auto& each : reports) {
    all.loss_sum += each.loss_sum;
    all.right.add(each.right);
  }
  return all;
}

} // namespace troupe::actors
