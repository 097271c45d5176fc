#include "metrics/registry/names.hpp"

#include "metrics/machine/gpu_sample.hpp"
#include "metrics/machine/process_use.hpp"
#include "metrics/records/checkpoint.hpp"
#include "metrics/records/epoch.hpp"
#include "metrics/records/step.hpp"
#include "metrics/records/worker.hpp"
#include "metrics/registry/registry.hpp"

#include <algorithm>
#include <initializer_list>

namespace troupe::metrics::names {

namespace {

using Metrics = std::vector<MetricName>;

void add(Metrics& all, std::initializer_list<MetricName> metrics) {
  all.insert(all.end(), metrics);
}

/// Several fields may share a metric, with different labels.
template <class Record>
void add_fields(Metrics& all) {
  for_each_field<Record>([&all](const auto& field) {
    const auto& metric = field.traits.metric;
    if (!metric.name.empty() && std::ranges::count(all, metric.name, &MetricName::name) == 0)
      all.push_back(metric);
  });
}

Metrics list() {
  Metrics all;
  add(all, {build_info, run_info, phase, last_error, ready, start_time, world_size, generation,
            heartbeat_time});
  add_fields<StepRecord>(all);
  add(all, {loss_scale, epoch, step, last_step, time_left});
  add_fields<EpochRecord>(all);
  add(all, {recoveries, recovery_time, checkpoints, checkpoint_failures});
  add_fields<CheckpointRecord>(all);
  add(all, {checkpoint_interval, checkpoint_written, steps, tokens, operations, peak_operations,
            collective_bytes, collective_time});
  add_fields<WorkerSummary>(all);
  add_fields<LoaderSample>(all);
  add(all, {unreadable_samples});
  add_fields<MailboxSample>(all);
  add(all, {memory, memory_peak, memory_total, memory_total_peak, memory_limit, host_memory,
            host_memory_limit});
  add_fields<GpuSample>(all);
  add_fields<ProcessUse>(all);
  return all;
}

} // namespace

const Metrics& all() {
  static const auto metrics = list();
  return metrics;
}

} // namespace troupe::metrics::names
