#include "metrics/report/detail/summary_values.hpp"
#include "metrics/report/run_json.hpp"

namespace troupe::metrics {

OrderedJson object_of(const RecomputeRecord& recompute) {
  return {{"activation_bytes", recompute.activation_bytes},
          {"activation_bytes_without", recompute.activation_bytes_without},
          {"operations_ratio", recompute.operations_ratio}};
}

OrderedJson bytes_by_kind(const std::array<std::size_t, memory_kinds>& bytes) {
  auto object = OrderedJson::object();
  for (std::size_t i = 0; i < memory_kinds; ++i)
    object[std::string(to_string(static_cast<MemoryKind>(i)))] = bytes[i];
  return object;
}

OrderedJson object_of(const RunInfo& run) {
  const bool began = run.started != decltype(run.started){};
  return {{"name", run.name},
          {"model", run.model},
          {"dataset", run.dataset},
          {"sample_name", run.sample_name},
          {"tokens_per_sample", run.tokens_per_sample},
          {"class_names", run.class_names},
          {"strategy", to_string(run.strategy)},
          {"precision", run.precision},
          {"world_size", run.world_size},
          {"batch_size", run.batch_size},
          {"steps_per_epoch", run.steps_per_epoch},
          {"total_steps", run.total_steps},
          {"first_step", run.first_step},
          {"operations_per_step", run.operations_per_step},
          {"peak_operations_per_second",
           run.peak_operations > 0 ? OrderedJson(run.peak_operations) : OrderedJson(nullptr)},
          {"started", began ? OrderedJson(utc(run.started)) : OrderedJson(nullptr)},
          {"host", run.host},
          {"version", run.version},
          {"recompute", run.recompute ? object_of(*run.recompute) : OrderedJson(nullptr)}};
}

std::string to_json(const RunInfo& run) {
  return dumped(object_of(run), 2) + "\n";
}

} // namespace troupe::metrics
