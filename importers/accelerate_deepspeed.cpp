// deepspeed_config: accelerate's own keys for DeepSpeed. The file that deepspeed_config_file names
// has another table.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"
#include "importers/detail/zero_stage.hpp"

#include <fmt/format.h>

namespace troupe {

namespace of_accelerate_deepspeed {
namespace {

using Context = ForeignContext;
using Entry = ForeignEntry;
using Outcome = ForeignOutcome;

constexpr std::string_view deepspeed = "distributed_type=DEEPSPEED";

/// accelerate rejects keys that are in both files.
template <Outcome (*map)(const Context&, const Entry&)>
Outcome unless_in_file(const Context& context, const Entry& entry) {
  if (context.deepspeed)
    return contradicts(
        "accelerate refuses it together with deepspeed_config_file, which contains it");
  return map(context, entry);
}

std::int64_t stage_of(const Context& context) {
  return whole_at(context, "deepspeed_config.zero_stage").value_or(2);
}

Outcome map_stage(const Context&, const Entry& entry) {
  const auto stage = whole_of(entry);
  auto settings = zero_stage_settings(stage.value_or(-1));
  if (settings.empty())
    return wrong(entry, "0, 1, 2, 3");
  return mapped(std::move(settings));
}

Outcome map_accumulation(const Context&, const Entry& entry) {
  const auto steps = whole_of(entry);
  if (!steps || *steps < 1)
    return wrong(entry, "a whole number, at least 1, or \"auto\"");
  return mapped({{"train.accumulate", fmt::format("{}", *steps)}});
}

Outcome map_optimizer(const Context& context, const Entry& entry) {
  return map_optimizer_device(entry, stage_of(context));
}

Outcome map_parameters(const Context& context, const Entry& entry) {
  return map_parameter_device(entry, stage_of(context));
}

Outcome map_weights(const Context& context, const Entry& entry) {
  return map_gathered_weights(entry, stage_of(context));
}

Outcome map_file(const Context& context, const Entry& entry) {
  if (entry.kind != ForeignKind::text || entry.text.empty())
    return wrong(entry, "the path of a JSON file");
  return mapped({}, context.deepspeed ? fmt::format("its keys are listed below, from {}",
                                                    context.deepspeed->source)
                                      : "");
}

ForeignRows method_rows() {
  return {
      {.key = "deepspeed_config.deepspeed_config_file",
       .default_value = Fate::mapped,
       .says = "the file is read too; its path is relative to the YAML file's folder or the "
               "working directory",
       .when = deepspeed,
       .map = map_file},
      {.key = "deepspeed_config.zero_stage",
       .default_value = Fate::mapped,
       .says = "`parallel.strategy`: 0 is ddp, 1 zero1, 2 zero2, 3 zero3",
       .when = deepspeed,
       .map = unless_in_file<map_stage>},
      {.key = "deepspeed_config.gradient_accumulation_steps",
       .default_value = Fate::mapped,
       .says = "`train.accumulate`",
       .when = deepspeed,
       .map = unless_in_file<map_accumulation>},
      {.key = "deepspeed_config.gradient_clipping",
       .default_value = Fate::mapped,
       .says = "`train.clip_grad_norm`",
       .when = deepspeed,
       .map = unless_in_file<map_clipping>},
      {.key = "deepspeed_config.offload_optimizer_device",
       .default_value = Fate::mapped,
       .says = "`parallel.offload: optimizer`; nvme becomes the host's memory",
       .when = deepspeed,
       .map = unless_in_file<map_optimizer>},
      {.key = "deepspeed_config.offload_param_device",
       .default_value = Fate::mapped,
       .says = "`parallel.offload: parameters`, with stage 3; nvme becomes the host's memory",
       .when = deepspeed,
       .map = unless_in_file<map_parameters>},
      {.key = "deepspeed_config.zero3_save_16bit_model",
       .default_value = Fate::mapped,
       .says = "`checkpoint.state`, with stage 3: true is full, in fp32; false sharded",
       .when = deepspeed,
       .map = unless_in_file<map_weights>},
  };
}

} // namespace
} // namespace of_accelerate_deepspeed

ForeignRows accelerate_deepspeed_rows() {
  using namespace of_accelerate_deepspeed;
  const std::string_view files = "troupe offloads to the host's memory";
  const std::string_view daemons = "start `troupe node` on each machine, as docs/cluster.md shows";
  auto rows = method_rows();
  for (const auto* key :
       {"deepspeed_config.offload_optimizer_nvme_path", "deepspeed_config.offload_param_nvme_path"})
    rows.push_back({.key = key, .default_value = Fate::left_out, .says = files});
  for (const auto* key :
       {"deepspeed_config.deepspeed_multinode_launcher", "deepspeed_config.deepspeed_hostfile",
        "deepspeed_config.deepspeed_inclusion_filter",
        "deepspeed_config.deepspeed_exclusion_filter"})
    rows.push_back({.key = key, .default_value = Fate::left_out, .says = daemons});
  rows.push_back(
      {.key = "deepspeed_config.zero3_init_flag",
       .default_value = Fate::built_in,
       .says = "parameters are initialized in the host's memory, and each worker takes its shard"});
  rows.push_back({.key = "deepspeed_config.deepspeed_moe_layer_cls_names",
                  .default_value = Fate::refused,
                  .says = "troupe has no mixture of experts",
                  .when = deepspeed});
  return rows;
}

} // namespace troupe
