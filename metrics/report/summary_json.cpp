#include "metrics/report/detail/loss_scale_json.hpp"
#include "metrics/report/detail/summary_values.hpp"
#include "metrics/report/run_json.hpp"

namespace troupe::metrics {

namespace {

OrderedJson object_of(const WorkerSummary& worker) {
  return {{"rank", worker.rank},
          {"device", worker.device},
          {"peak_memory_bytes", worker.peak_memory_bytes},
          {"memory_limit_bytes", worker.memory_limit_bytes},
          {"peak_operations_per_second", worker.peak_operations},
          {"parameter_bytes", worker.parameter_bytes},
          {"gradient_bytes", worker.gradient_bytes},
          {"optimizer_bytes", worker.optimizer_bytes},
          {"busy_ratio", worker.busy_ratio},
          {"steps", worker.steps},
          {"step_seconds", worker.step_seconds},
          {"compute_seconds", worker.compute_seconds},
          {"data_wait_seconds", worker.data_wait_seconds},
          {"collective_seconds", worker.collective_seconds},
          {"optimizer_seconds", worker.optimizer_seconds},
          {"peak_bytes_by_kind", bytes_by_kind(worker.memory.peak)}};
}

} // namespace

std::string to_json(const RunSummary& summary) {
  OrderedJson workers = OrderedJson::array();
  for (const auto& worker : summary.workers)
    workers.push_back(object_of(worker));
  OrderedJson object = {{"name", summary.name},
                        {"status", summary.status},
                        {"error", text_or_null(summary.error)},
                        {"epochs", summary.epochs},
                        {"steps", summary.steps},
                        {"samples", summary.samples},
                        {"seconds", summary.seconds},
                        {"samples_per_second", summary.samples_per_second},
                        {"mfu", number_or_null(summary.mfu)},
                        {"operations_per_step", summary.operations_per_step},
                        {"tokens_per_sample", summary.tokens_per_sample},
                        {"loss", summary.loss},
                        {"test_loss", number_or_null(summary.test_loss)},
                        {"accuracy", number_or_null(summary.accuracy)},
                        {"model", summary.model},
                        {"dataset", summary.dataset},
                        {"class_names", summary.class_names},
                        {"world_size", summary.world_size},
                        {"strategy", to_string(summary.strategy)},
                        {"precision", summary.precision},
                        {"batch_size", summary.batch_size},
                        {"steps_per_epoch", summary.steps_per_epoch},
                        {"total_steps", summary.total_steps},
                        {"first_step", summary.first_step},
                        {"parameters_sha256", summary.parameters_sha256},
                        {"overlap_ratio", summary.overlap_ratio},
                        {"unreadable_samples", summary.unreadable_samples},
                        {"unreadable_files", summary.unreadable_files},
                        {"checkpoints", summary.checkpoints},
                        {"checkpoint_failures", summary.checkpoint_failures},
                        {"checkpoint_seconds", summary.checkpoint_seconds},
                        {"checkpoint", text_or_null(summary.checkpoint)},
                        {"workers", workers},
                        {"started", utc(summary.started)},
                        {"host", summary.host},
                        {"version", summary.version}};
  add_loss_scale(object, summary);
  if (const auto& recompute = summary.recompute)
    object["recompute"] = object_of(*recompute);
  return dumped(object, 2) + "\n";
}

} // namespace troupe::metrics
