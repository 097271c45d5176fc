/// The record of a worker's resources, in summary.json and on the page.
#pragma once

#include "core/device/device.hpp"
#include "metrics/records/field.hpp"
#include "metrics/records/shared_metrics.hpp"

#include <cstdint>
#include <string>
#include <tuple>

namespace troupe::metrics {

/// Resources that one worker used. The four byte counts are peaks.
struct WorkerSummary {
  int rank = 0;
  std::string device = {}; ///< DeviceInfo::name
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t gradient_bytes = 0;
  std::uint64_t optimizer_bytes = 0;
  double busy_ratio = 0; ///< fraction of its steps' time in forward and backward
  MemoryUse memory = {}; ///< by kind, current and peak
  // Since the last start of the run.
  std::int64_t steps = 0;
  double step_seconds = 0; ///< total of all steps, from commit to commit
  double compute_seconds = 0;
  double data_wait_seconds = 0;
  double collective_seconds = 0;  ///< not overlapped with computing
  double optimizer_seconds = 0;   ///< not overlapped either
  std::int64_t ready_batches = 0; ///< filled when the last step ended
  // Limits of its device; 0: unknown.
  std::uint64_t memory_limit_bytes = 0;
  double peak_operations = 0; ///< operations a second, in the run's precision
};

/// registry/registry.cpp exports memory and limits.
template <>
inline constexpr auto fields_of<WorkerSummary> = std::tuple{
    field("rank", &WorkerSummary::rank),
    field("device", &WorkerSummary::device),
    field("peak_memory_bytes", &WorkerSummary::peak_memory_bytes),
    field("memory_limit_bytes", &WorkerSummary::memory_limit_bytes),
    field("peak_operations_per_second", &WorkerSummary::peak_operations),
    field("parameter_bytes", &WorkerSummary::parameter_bytes),
    field("gradient_bytes", &WorkerSummary::gradient_bytes),
    field("optimizer_bytes", &WorkerSummary::optimizer_bytes),
    field("busy_ratio", &WorkerSummary::busy_ratio,
          {.metric = names::metric("troupe_worker_busy_ratio", names::gauge, names::every_node,
                                   "Share of the steps' time in forward and backward", "rank")}),
    field("steps", &WorkerSummary::steps,
          {.metric = names::metric("troupe_rank_steps_total", names::counter, names::every_node,
                                   "Steps of the rank", "rank"),
           .is_total = true}),
    field("step_seconds", &WorkerSummary::step_seconds),
    field("compute_seconds", &WorkerSummary::compute_seconds,
          {.metric = names::rank_time, .label = "compute", .is_total = true}),
    field("data_wait_seconds", &WorkerSummary::data_wait_seconds,
          {.metric = names::rank_time, .label = "data", .is_total = true}),
    field("collective_seconds", &WorkerSummary::collective_seconds,
          {.metric = names::rank_time, .label = "collectives", .is_total = true}),
    field("optimizer_seconds", &WorkerSummary::optimizer_seconds,
          {.metric = names::rank_time, .label = "optimizer", .is_total = true}),
    field("peak_bytes_by_kind", &WorkerSummary::memory), // only the peaks, in JSON
    field("ready_batches", &WorkerSummary::ready_batches,
          {.metric = names::metric(
               "troupe_loader_ready_batches", names::gauge, names::every_node,
               "Micro-batches that were ready when the rank's last step ended; 0: the "
               "next step has to wait",
               "rank"),
           .in_files = false})};

} // namespace troupe::metrics
