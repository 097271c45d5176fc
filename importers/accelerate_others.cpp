// Keys of accelerate for features that troupe does not have.
#include "importers/detail/tables.hpp"

namespace troupe {
namespace of_accelerate_others {
namespace {

ForeignRows launch_rows() {
  const std::string_view compiled = "the graph is always compiled: fused, planned and lowered";
  return {
      {"debug", Fate::left_out,
       "a collective that fails or hangs is reported as an error, with rank and step"},
      {.key = "main_training_function",
       .fate = Fate::left_out,
       .says = "troupe is the training program: set the keys of model, data and train",
       .neutral = "main"},
      {"mpirun_config.*", Fate::left_out,
       "start `troupe node` on each machine, as docs/cluster.md shows"},
      {.key = "dynamo_backend", .fate = Fate::left_out, .says = compiled, .neutral = "NO"},
      {"dynamo_config.*", Fate::left_out, compiled},
  };
}

ForeignRows method_rows() {
  return {
      {.key = "fp8_config.*",
       .fate = Fate::refused,
       .says = "troupe has no fp8; the nearest is mixed_precision: bf16",
       .when = "mixed_precision=fp8"},
      {.key = "megatron_lm_config.*",
       .fate = Fate::refused,
       .says = "troupe has no tensor, pipeline, sequence or expert parallelism; the nearest is "
               "distributed_type: FSDP",
       .when = "distributed_type=MEGATRON_LM"},
      {.key = "downcast_bf16", .fate = Fate::refused, .says = "it is for TPUs", .neutral = "no"},
      {"tpu_use_cluster", Fate::refused, "troupe has no TPUs"},
  };
}

/// Keys for machines that distributed_type or compute_environment has already rejected.
ForeignRows rented_rows() {
  return joined(
      {left_out("it is for TPUs", {"tpu_name", "tpu_zone", "tpu_use_sudo", "tpu_vm", "tpu_env",
                                   "command_file", "commands"}),
       left_out("it is for SageMaker",
                {"ec2_instance_type", "iam_role_name", "image_uri", "profile", "region",
                 "base_job_name", "pytorch_version", "transformers_version", "py_version",
                 "sagemaker_inputs_file", "sagemaker_metrics_file", "additional_args.*"})});
}

} // namespace
} // namespace of_accelerate_others

ForeignRows accelerate_other_rows() {
  using namespace of_accelerate_others;
  return joined({launch_rows(), method_rows(), rented_rows()});
}

} // namespace troupe
