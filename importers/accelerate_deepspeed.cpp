// deepspeed_config: accelerate's own keys for DeepSpeed. The file that deepspeed_config_file names
// has another table.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"
#include "importers/detail/zero_stage.hpp"

#include <fmt/format.h>

namespace troupe {
namespace of_accelerate_deepspeed {
namespace {

/// accelerate rejects keys that are in both files.
ForeignMap unless_in_file(ForeignMap map) {
  return [=](const ForeignContext& context, const ForeignEntry& entry) {
    if (context.deepspeed)
      return contradicts(
          "accelerate refuses it together with deepspeed_config_file, which contains it");
    return map(context, entry);
  };
}

ForeignOutcome map_file(const ForeignContext& context, const ForeignEntry& entry) {
  if (entry.kind != ForeignKind::text || entry.text.empty())
    return wrong(entry, "the path of a JSON file");
  return mapped({}, context.deepspeed ? fmt::format("its keys are listed below, from {}",
                                                    context.deepspeed->source)
                                      : "");
}

ForeignRows method_rows() {
  return {
      {"deepspeed_config_file", Fate::mapped,
       "the file is read too; its path is relative to the YAML file's folder or the working "
       "directory",
       map_file},
      {"zero_stage", Fate::mapped, "`parallel.strategy`: 0 is ddp, 1 zero1, 2 zero2, 3 zero3",
       unless_in_file(map_zero_stage)},
      {"gradient_accumulation_steps", Fate::mapped, "`train.accumulate`",
       unless_in_file(count_to("train.accumulate", "a whole number, at least 1, or \"auto\""))},
      {"gradient_clipping", Fate::mapped, "`train.clip_grad`", unless_in_file(map_clipping)},
      {"offload_optimizer_device", Fate::mapped,
       "`parallel.offload: optimizer`; nvme becomes the host's memory",
       unless_in_file(map_optimizer_device)},
      {"offload_param_device", Fate::mapped,
       "`parallel.offload: parameters`, with stage 3; nvme becomes the host's memory",
       unless_in_file(map_parameter_device)},
      {"zero3_save_16bit_model", Fate::mapped,
       "`checkpoint.state`, with stage 3: true is full, in fp32; false sharded",
       unless_in_file(map_gathered_weights)},
  };
}

ForeignRows other_rows() {
  return joined({
      left_out("troupe offloads to the host's memory",
               {"offload_optimizer_nvme_path", "offload_param_nvme_path"}),
      left_out("start `troupe node` on each machine, as docs/cluster.md shows",
               {"deepspeed_multinode_launcher", "deepspeed_hostfile", "deepspeed_inclusion_filter",
                "deepspeed_exclusion_filter"}),
      built_in("parameters are initialized in the host's memory, and each worker takes its shard",
               {"zero3_init_flag"}),
  });
}

ForeignRows expert_rows() {
  return refused("troupe has no mixture of experts", {"deepspeed_moe_layer_cls_names"});
}

} // namespace
} // namespace of_accelerate_deepspeed

ForeignRows accelerate_deepspeed_rows() {
  using namespace of_accelerate_deepspeed;
  constexpr std::string_view deepspeed = "distributed_type=DEEPSPEED";
  return below("deepspeed_config.", joined({only_with(deepspeed, method_rows()), other_rows(),
                                            only_with(deepspeed, expert_rows())}));
}

} // namespace troupe
