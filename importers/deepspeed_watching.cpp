// Logs, profilers, monitors and checkpoints: the outputs of a run.
#include "importers/detail/tables.hpp"

#include <initializer_list>

namespace troupe {

namespace of_deepspeed_watching {
namespace {

void add(ForeignRows& rows, Fate fate, std::string_view says,
         std::initializer_list<std::string_view> keys) {
  for (const auto key : keys)
    rows.push_back({.key = key, .default_value = fate, .says = says});
}

void add_logs(ForeignRows& rows) {
  add(rows, Fate::left_out, "the console shows steps, and events.jsonl has each",
      {"steps_per_print", "log_level"});
  add(rows, Fate::left_out, "events.jsonl has the time of each step; --trace shows how it is spent",
      {"wall_clock_breakdown", "timers.*"});
  add(rows, Fate::left_out,
      "`troupe plan` predicts a job's memory, and summary.json has its actual use",
      {"memory_breakdown"});
  add(rows, Fate::left_out, "`troupe config show` prints the config with all defaults",
      {"dump_state"});
}

void add_profilers(ForeignRows& rows) {
  add(rows, Fate::left_out, "`troupe plan` counts what a step computes; --trace shows its time",
      {"flops_profiler.enabled", "flops_profiler.profile_step", "flops_profiler.module_depth",
       "flops_profiler.top_modules", "flops_profiler.detailed", "flops_profiler.output_file",
       "flops_profiler.recompute_fwd_factor"});
  add(rows, Fate::left_out,
      "`troupe plan` counts the bytes that are sent; --trace shows their time",
      {"comms_logger.enabled", "comms_logger.verbose", "comms_logger.prof_all",
       "comms_logger.prof_ops", "comms_logger.debug"});
}

void add_monitors(ForeignRows& rows) {
  add(rows, Fate::left_out, "run.tensorboard: true writes files for TensorBoard",
      {"tensorboard.enabled", "tensorboard.output_path", "tensorboard.job_name"});
  add(rows, Fate::left_out, "metrics.listen is for Prometheus and Grafana; report.html has curves",
      {"wandb.enabled", "wandb.group", "wandb.team", "wandb.project", "comet.*",
       "monitor_config.*"});
  add(rows, Fate::left_out, "events.jsonl has one line per step",
      {"csv_monitor.enabled", "csv_monitor.output_path", "csv_monitor.job_name"});
}

void add_checkpoints(ForeignRows& rows) {
  add(rows, Fate::built_in,
      "checkpoints are files of one format that load with any number of "
      "workers",
      {"checkpoint.tag_validation", "checkpoint.load_universal"});
  add(rows, Fate::left_out,
      "with checkpoint.state: sharded, all ranks write their shards at the same time",
      {"checkpoint.parallel_write.*"});
  add(rows, Fate::left_out,
      "full checkpoints are on the leader's host, sharded ones in a folder that all hosts share",
      {"checkpoint.use_node_local_storage"});
  add(rows, Fate::left_out, "checkpoints are safetensors, written during the next steps",
      {"checkpoint.checkpoint_serialization", "checkpoint.writer.*", "nebula.*",
       "datastates_ckpt.*"});
}

} // namespace
} // namespace of_deepspeed_watching

ForeignRows deepspeed_watching_rows() {
  using namespace of_deepspeed_watching;
  ForeignRows rows;
  add_logs(rows);
  add_profilers(rows);
  add_monitors(rows);
  add_checkpoints(rows);
  return rows;
}

} // namespace troupe
