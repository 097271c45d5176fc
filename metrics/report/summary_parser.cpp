// Parses run.json and summary.json.
#include "core/json.hpp"
#include "metrics/report/detail/json_values.hpp"
#include "metrics/report/run_json.hpp"

namespace troupe::metrics {

namespace {

std::optional<RecomputeRecord> recompute_of(const OrderedJson& run) {
  const auto found = run.find("recompute");
  if (found == run.end() || !found->is_object())
    return std::nullopt;
  return RecomputeRecord{.activation_bytes = integer_at<std::uint64_t>(*found, "activation_bytes"),
                         .activation_bytes_without =
                             integer_at<std::uint64_t>(*found, "activation_bytes_without"),
                         .operations_ratio = number_at(*found, "operations_ratio")};
}

RunInfo info_of(const OrderedJson& run) {
  RunInfo info{.name = text_at(run, "name"),
               .model = text_at(run, "model"),
               .dataset = text_at(run, "dataset"),
               .tokens_per_sample = integer_at<std::int64_t>(run, "tokens_per_sample"),
               .precision = text_at(run, "precision"),
               .world_size = integer_at<std::int32_t>(run, "world_size"),
               .batch_size = integer_at<std::int64_t>(run, "batch_size"),
               .steps_per_epoch = integer_at<std::int64_t>(run, "steps_per_epoch"),
               .total_steps = integer_at<std::int64_t>(run, "total_steps"),
               .first_step = integer_at<std::int64_t>(run, "first_step"),
               .operations_per_step = number_at(run, "operations_per_step"),
               .peak_operations = optional_number_at(run, "peak_operations_per_second").value_or(0),
               .recompute = recompute_of(run),
               .host = text_at(run, "host"),
               .version = text_at(run, "version"),
               .started = moment_at(run, "started")};
  if (const auto samples = text_at(run, "sample_name"); !samples.empty())
    info.sample_name = samples;
  info.strategy = strategy_named(text_at(run, "strategy")).value_or(info.strategy);
  if (const auto names = run.find("class_names"); names != run.end() && names->is_array())
    for (const auto& name : *names)
      info.class_names.push_back(name.is_string() ? name.get<std::string>() : "");
  return info;
}

WorkerSummary worker_of(const OrderedJson& json) {
  WorkerSummary worker{.rank = integer_at<int>(json, "rank"),
                       .device = text_at(json, "device"),
                       .peak_memory_bytes = integer_at<std::uint64_t>(json, "peak_memory_bytes"),
                       .parameter_bytes = integer_at<std::uint64_t>(json, "parameter_bytes"),
                       .gradient_bytes = integer_at<std::uint64_t>(json, "gradient_bytes"),
                       .optimizer_bytes = integer_at<std::uint64_t>(json, "optimizer_bytes"),
                       .busy_ratio = number_at(json, "busy_ratio"),
                       .steps = integer_at<std::int64_t>(json, "steps"),
                       .step_seconds = number_at(json, "step_seconds"),
                       .compute_seconds = number_at(json, "compute_seconds"),
                       .data_wait_seconds = number_at(json, "data_wait_seconds"),
                       .collective_seconds = number_at(json, "collective_seconds"),
                       .optimizer_seconds = number_at(json, "optimizer_seconds"),
                       .memory_limit_bytes = integer_at<std::uint64_t>(json, "memory_limit_bytes"),
                       .peak_operations = number_at(json, "peak_operations_per_second")};
  worker.memory.total_peak = worker.peak_memory_bytes;
  if (const auto peaks = json.find("peak_bytes_by_kind"); peaks != json.end())
    for (std::size_t i = 0; i < memory_kinds; ++i)
      worker.memory.peak[i] = integer_at<std::size_t>(
          *peaks, std::string(to_string(static_cast<MemoryKind>(i))).c_str());
  return worker;
}

RunResult result_of(const OrderedJson& json) {
  return {.status = text_at(json, "status"),
          .epochs = integer_at<std::int64_t>(json, "epochs"),
          .steps = integer_at<std::int64_t>(json, "steps"),
          .seconds = number_at(json, "seconds"),
          .samples_per_second = number_at(json, "samples_per_second"),
          .mfu = optional_number_at(json, "mfu"),
          .loss = number_at(json, "loss"),
          .test_loss = optional_number_at(json, "test_loss"),
          .accuracy = optional_number_at(json, "accuracy"),
          .parameters_sha256 = text_at(json, "parameters_sha256")};
}

} // namespace

std::optional<RunInfo> parse_run_info(std::string_view json) {
  const auto run = parse_json<OrderedJson>(json).value_or(nullptr);
  return run.is_object() && run.contains("total_steps") ? std::optional{info_of(run)}
                                                        : std::nullopt;
}

std::optional<RunSummary> parse_summary(std::string_view json) {
  const auto object = parse_json<OrderedJson>(json).value_or(nullptr);
  if (!object.is_object() || !object.contains("status"))
    return std::nullopt;
  RunSummary summary{info_of(object), result_of(object)};
  summary.error = text_at(object, "error");
  summary.samples = integer_at<std::int64_t>(object, "samples");
  summary.overlap_ratio = number_at(object, "overlap_ratio");
  summary.loss_scale = optional_number_at(object, "loss_scale");
  summary.skipped_steps = integer_at<std::int64_t>(object, "skipped_steps");
  summary.scale_growths = integer_at<std::int64_t>(object, "loss_scale_growths");
  summary.unreadable_samples = integer_at<std::int64_t>(object, "unreadable_samples");
  summary.unreadable_files = integer_at<std::int64_t>(object, "unreadable_files");
  summary.checkpoints = integer_at<std::int64_t>(object, "checkpoints");
  summary.checkpoint_failures = integer_at<std::int64_t>(object, "checkpoint_failures");
  summary.checkpoint_seconds = optional_number_at(object, "checkpoint_seconds").value_or(0);
  summary.checkpoint = text_at(object, "checkpoint");
  if (const auto workers = object.find("workers"); workers != object.end() && workers->is_array())
    for (const auto& worker : *workers)
      summary.workers.push_back(worker_of(worker));
  return summary;
}

} // namespace troupe::metrics
