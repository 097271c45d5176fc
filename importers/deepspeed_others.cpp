// DeepSpeed's keys for the outputs of a run, and for training methods that troupe does not have.
#include "importers/detail/tables.hpp"

namespace troupe {
namespace of_deepspeed_others {
namespace {

ForeignRows log_rows() {
  return joined({
      left_out("the console shows steps, and events.jsonl has each",
               {"steps_per_print", "log_level"}),
      left_out("events.jsonl has the time of each step; --trace shows how it is spent",
               {"wall_clock_breakdown", "timers.*"}),
      left_out("`troupe plan` predicts a job's memory, and summary.json has its actual use",
               {"memory_breakdown"}),
      left_out("`troupe config show` prints the config with all defaults", {"dump_state"}),
  });
}

ForeignRows profiler_rows() {
  return joined(
      {below("flops_profiler.",
             left_out("`troupe plan` counts what a step computes; --trace shows its time",
                      {"enabled", "profile_step", "module_depth", "top_modules", "detailed",
                       "output_file", "recompute_fwd_factor"})),
       below("comms_logger.",
             left_out("`troupe plan` counts the bytes that are sent; --trace shows their time",
                      {"enabled", "verbose", "prof_all", "prof_ops", "debug"}))});
}

ForeignRows monitor_rows() {
  return joined({
      left_out("run.tensorboard: true writes files for TensorBoard",
               {"tensorboard.enabled", "tensorboard.output_path", "tensorboard.job_name"}),
      left_out("metrics.listen is for Prometheus and Grafana; report.html has curves",
               {"wandb.enabled", "wandb.group", "wandb.team", "wandb.project", "comet.*",
                "monitor_config.*"}),
      left_out("events.jsonl has one line per step",
               {"csv_monitor.enabled", "csv_monitor.output_path", "csv_monitor.job_name"}),
  });
}

ForeignRows checkpoint_rows() {
  return joined({
      built_in("checkpoints are files of one format that load with any number of workers",
               {"checkpoint.tag_validation", "checkpoint.load_universal"}),
      left_out("with checkpoint.state: sharded, all ranks write their shards at the same time",
               {"checkpoint.parallel_write.*"}),
      left_out("full checkpoints are on the leader's host, sharded ones in a folder that all "
               "hosts share",
               {"checkpoint.use_node_local_storage"}),
      left_out("checkpoints are safetensors, written during the next steps",
               {"checkpoint.checkpoint_serialization", "checkpoint.writer.*", "nebula.*",
                "datastates_ckpt.*"}),
  });
}

ForeignRows data_rows() {
  return joined({
      refused("each sample is used once per epoch: data",
              {"curriculum_learning.*", "data_efficiency.*"}),
      refused("troupe trains all layers in every step", {"progressive_layer_drop.*"}),
  });
}

ForeignRows model_rows() {
  return joined({
      refused("troupe has no sparse attention", {"sparse_attention.*"}),
      refused("troupe neither quantizes nor prunes; precision.mode sets the types",
              {"compression_training.*", "quantize_training.*", "weight_quantization.*", "msamp.*",
               "fp8.*"}),
      left_out("it is for quantize_training", {"eigenvalue.*"}),
  });
}

ForeignRows parallelism_rows() {
  return joined({
      refused("troupe shards data and state, not layers: zero_optimization.stage 3",
              {"tensor_parallel.*", "pipeline.*", "expert_parallel.*", "hybrid_engine.*"}),
      refused("troupe shards data and state, not sequences; leave it at 1",
              {"sequence_parallel_size"}, "1"),
      left_out("all workers share the data: devices.count x cluster.nodes",
               {"data_parallel_size", "use_data_before_expert_parallelism"}),
      refused("the number of workers and the batch size do not change during a run",
              {"elasticity.*"}),
  });
}

ForeignRows compiler_rows() {
  return joined({
      left_out("the graph is always compiled: fused, planned and lowered",
               {"compile.*", "graph_harvesting", "vocabulary_size"}),
      left_out("`troupe plan` and `troupe compare` help to choose a strategy", {"autotuning.*"}),
  });
}

} // namespace
} // namespace of_deepspeed_others

ForeignRows deepspeed_other_rows() {
  using namespace of_deepspeed_others;
  return joined({log_rows(), profiler_rows(), monitor_rows(), checkpoint_rows(), data_rows(),
                 model_rows(), parallelism_rows(), compiler_rows()});
}

} // namespace troupe
