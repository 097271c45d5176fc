// zero_optimization's offload_optimizer and offload_param, their old names, and activation
// checkpointing.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"
#include "importers/detail/zero_stage.hpp"

#include <fmt/format.h>

namespace troupe {

namespace of_deepspeed_offload {
namespace {

using Context = ForeignContext;
using Entry = ForeignEntry;
using Outcome = ForeignOutcome;

std::int64_t stage_of(const Context& context) {
  return whole_at(context, "zero_optimization.stage").value_or(0);
}

Outcome map_optimizer(const Context& context, const Entry& entry) {
  return map_optimizer_device(entry, stage_of(context));
}

Outcome map_parameters(const Context& context, const Entry& entry) {
  return map_parameter_device(entry, stage_of(context));
}

/// cpu_offload: true means offload_optimizer: {device: cpu}.
Outcome map_old(const Context& context, const Entry& entry, const std::string& target,
                std::int64_t least_stage) {
  const auto on = boolean_of(entry);
  if (!on)
    return wrong(entry, "true or false");
  if (!*on || stage_of(context) < least_stage)
    return with_fate(Fate::idle, "nothing is offloaded");
  return mapped({{"parallel.offload", target, least_stage == 3 ? Firmness::firm : Firmness::weak}});
}

Outcome map_old_optimizer(const Context& context, const Entry& entry) {
  return map_old(context, entry, "optimizer", 1);
}

Outcome map_old_parameters(const Context& context, const Entry& entry) {
  return map_old(context, entry, "parameters", 3);
}

Outcome map_ratio(const Context& context, const Entry& entry) {
  const auto ratio = number_of(entry);
  if (!ratio || *ratio < 0 || *ratio > 1)
    return wrong(entry, "a number, 0 to 1");
  if (*ratio == 0 || stage_of(context) == 0 ||
      !is_on(context, "zero_optimization.offload_optimizer.device"))
    return with_fate(*ratio == 0 ? Fate::left_out : Fate::idle,
                     "it is only for offloaded state; leave device out to offload nothing");
  const bool of_parameters =
      stage_of(context) == 3 && is_on(context, "zero_optimization.offload_param.device");
  return mapped({{of_parameters ? "parallel.offload.parameters" : "parallel.offload.optimizer",
                  number_text(*ratio)}});
}

/// The section configures a model's own checkpointing, so a file that sets it uses checkpointing.
Outcome map_recompute(const Context&, const Entry& entry) {
  if (is_neutral(entry))
    return with_fate(Fate::idle, fmt::format("{} enables nothing", value_text(entry)));
  return mapped({{"train.recompute", "block"}}, "results have the same bits as without it");
}

ForeignRows mapped_rows() {
  return {
      {.key = "zero_optimization.offload_optimizer.device",
       .default_value = Fate::mapped,
       .says = "`parallel.offload: optimizer`; nvme becomes the host's memory",
       .map = map_optimizer},
      {.key = "zero_optimization.offload_param.device",
       .default_value = Fate::mapped,
       .says = "`parallel.offload: parameters`, with stage 3; nvme becomes the host's memory",
       .map = map_parameters},
      {.key = "zero_optimization.offload_optimizer.ratio",
       .default_value = Fate::mapped,
       .says = "`parallel.offload: {optimizer: RATIO}`",
       .map = map_ratio},
      {.key = "zero_optimization.cpu_offload",
       .default_value = Fate::mapped,
       .says = "`parallel.offload: optimizer`: the old name",
       .map = map_old_optimizer},
      {.key = "zero_optimization.cpu_offload_params",
       .default_value = Fate::mapped,
       .says = "`parallel.offload: parameters`: the old name",
       .map = map_old_parameters},
      {.key = "zero_optimization.cpu_offload_param",
       .default_value = Fate::mapped,
       .says = "`parallel.offload: parameters`: the old name",
       .map = map_old_parameters},
      {.key = "activation_checkpointing.partition_activations",
       .default_value = Fate::mapped,
       .says = "`train.recompute: block`",
       .map = map_recompute},
      {.key = "activation_checkpointing.cpu_checkpointing",
       .default_value = Fate::mapped,
       .says = "`train.recompute: block`; activations that are kept stay on the device",
       .map = map_recompute},
      {.key = "activation_checkpointing.number_checkpoints",
       .default_value = Fate::mapped,
       .says = "`train.recompute: block`, or units by name, or {fit: SIZE}",
       .map = map_recompute},
  };
}

} // namespace
} // namespace of_deepspeed_offload

ForeignRows deepspeed_offload_rows() {
  using namespace of_deepspeed_offload;
  auto rows = mapped_rows();
  for (const auto* key : {"zero_optimization.offload_optimizer.pin_memory",
                          "zero_optimization.offload_param.pin_memory",
                          "zero_optimization.cpu_offload_use_pin_memory"})
    rows.push_back({.key = key,
                    .default_value = Fate::built_in,
                    .says = "a GPU's state is offloaded to pinned memory"});
  for (const auto* key :
       {"zero_optimization.offload_optimizer.nvme_path",
        "zero_optimization.offload_optimizer.buffer_count",
        "zero_optimization.offload_optimizer.pipeline_read",
        "zero_optimization.offload_optimizer.pipeline_write",
        "zero_optimization.offload_optimizer.fast_init",
        "zero_optimization.offload_param.nvme_path", "zero_optimization.offload_param.buffer_count",
        "zero_optimization.offload_param.buffer_size", "zero_optimization.offload_param.max_in_cpu",
        "aio.*"})
    rows.push_back({.key = key,
                    .default_value = Fate::left_out,
                    .says = "troupe offloads to the host's memory, not to files"});
  for (const auto* key : {"zero_optimization.offload_optimizer.super_offload",
                          "zero_optimization.offload_optimizer.cpuadam_cores_perc"})
    rows.push_back({.key = key,
                    .default_value = Fate::left_out,
                    .says = "the host updates with devices.threads_per_worker threads"});
  for (const auto* key : {"activation_checkpointing.contiguous_memory_optimization",
                          "activation_checkpointing.synchronize_checkpoint_boundary",
                          "activation_checkpointing.profile"})
    rows.push_back({.key = key,
                    .default_value = Fate::built_in,
                    .says = "the memory plan lays out activations; `--trace` shows a step"});
  return rows;
}

} // namespace troupe
