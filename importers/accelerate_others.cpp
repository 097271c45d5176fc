// Keys of accelerate for features that troupe does not have.
#include "importers/detail/tables.hpp"

namespace troupe {

namespace of_accelerate_others {
namespace {

ForeignRows launch_rows() {
  return {
      {.key = "debug",
       .default_value = Fate::left_out,
       .says = "a collective that fails or hangs is reported as an error, with rank and step"},
      {.key = "main_training_function",
       .default_value = Fate::left_out,
       .says = "troupe is the training program: set the keys of model, data and train",
       .neutral = "main"},
      {.key = "mpirun_config.*",
       .default_value = Fate::left_out,
       .says = "start `troupe node` on each machine, as docs/cluster.md shows"},
      {.key = "dynamo_backend",
       .default_value = Fate::left_out,
       .says = "the graph is always compiled: fused, planned and lowered",
       .neutral = "NO"},
      {.key = "dynamo_config.*",
       .default_value = Fate::left_out,
       .says = "the graph is always compiled: fused, planned and lowered"},
  };
}

ForeignRows method_rows() {
  return {
      {.key = "fp8_config.*",
       .default_value = Fate::refused,
       .says = "troupe has no fp8; the nearest is mixed_precision: bf16",
       .when = "mixed_precision=fp8"},
      {.key = "megatron_lm_config.*",
       .default_value = Fate::refused,
       .says = "troupe has no tensor, pipeline, sequence or expert parallelism; the nearest is "
               "distributed_type: FSDP",
       .when = "distributed_type=MEGATRON_LM"},
      {.key = "downcast_bf16",
       .default_value = Fate::refused,
       .says = "it is for TPUs",
       .neutral = "no"},
      {.key = "tpu_use_cluster", .default_value = Fate::refused, .says = "troupe has no TPUs"},
  };
}

/// Keys for machines that distributed_type or compute_environment has already rejected.
ForeignRows rented_rows() {
  ForeignRows rows;
  for (const auto* key :
       {"tpu_name", "tpu_zone", "tpu_use_sudo", "tpu_vm", "tpu_env", "command_file", "commands"})
    rows.push_back({.key = key, .default_value = Fate::left_out, .says = "it is for TPUs"});
  for (const auto* key : {"ec2_instance_type", "iam_role_name", "image_uri", "profile", "region",
                          "base_job_name", "pytorch_version", "transformers_version", "py_version",
                          "sagemaker_inputs_file", "sagemaker_metrics_file"})
    rows.push_back({.key = key, .default_value = Fate::left_out, .says = "it is for SageMaker"});
  rows.push_back(
      {.key = "additional_args.*", .default_value = Fate::left_out, .says = "it is for SageMaker"});
  return rows;
}

} // namespace
} // namespace of_accelerate_others

ForeignRows accelerate_other_rows() {
  using namespace of_accelerate_others;
  auto rows = launch_rows();
  for (auto* part : {method_rows, rented_rows})
    for (auto& row : part())
      rows.push_back(row);
  return rows;
}

} // namespace troupe
