// zero_optimization's offload_optimizer and offload_param, their old names, and activation
// checkpointing.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"
#include "importers/detail/zero_stage.hpp"

#include <fmt/format.h>

namespace troupe {

namespace of_deepspeed_offload {
namespace {

/// cpu_offload: true means offload_optimizer: {device: cpu}.
ForeignMap old_name_of(std::string target, std::int64_t least_stage) {
  return [=](const ForeignContext& context, const ForeignEntry& entry) -> ForeignOutcome {
    const auto on = boolean_of(entry);
    if (!on)
      return wrong(entry, "true or false");
    if (!*on || deepspeed_stage(context) < least_stage)
      return {Fate::idle, "nothing is offloaded"};
    const auto firmness = least_stage == 3 ? Firmness::firm : Firmness::weak;
    return mapped({{"parallel.offload", target, firmness}});
  };
}

ForeignOutcome map_ratio(const ForeignContext& context, const ForeignEntry& entry) {
  const auto ratio = number_of(entry);
  if (!ratio || *ratio < 0 || *ratio > 1)
    return wrong(entry, "a number, 0 to 1");
  if (*ratio == 0 || deepspeed_stage(context) == 0 ||
      !is_on(context, "zero_optimization.offload_optimizer.device"))
    return {*ratio == 0 ? Fate::left_out : Fate::idle,
            "it is only for offloaded state; leave device out to offload nothing"};
  const bool of_parameters =
      deepspeed_stage(context) == 3 && is_on(context, "zero_optimization.offload_param.device");
  return mapped({{of_parameters ? "parallel.offload.parameters" : "parallel.offload.optimizer",
                  fmt::format("{}", *ratio)}});
}

/// The section configures a model's own checkpointing, so a file that sets it uses checkpointing.
ForeignOutcome map_recompute(const ForeignContext&, const ForeignEntry& entry) {
  if (is_neutral(entry))
    return {Fate::idle, fmt::format("{} enables nothing", value_text(entry))};
  return mapped({{"train.recompute", "block"}}, "results have the same bits as without it");
}

constexpr std::string_view checkpointing = "activation_checkpointing.",
                           no_files = "troupe offloads to the host's memory, not to files";

ForeignRows recompute_rows() {
  return {
      {"partition_activations", Fate::mapped, "`train.recompute: block`", map_recompute},
      {"cpu_checkpointing", Fate::mapped,
       "`train.recompute: block`; activations that are kept stay on the device", map_recompute},
      {"number_checkpoints", Fate::mapped,
       "`train.recompute: block`, or units by name, or {fit: SIZE}", map_recompute},
  };
}

ForeignRows offload_rows() {
  const std::string_view old_parameters = "`parallel.offload: parameters`: the old name";
  const auto map_old_parameters = old_name_of("parameters", 3);
  return {
      {"offload_optimizer.device", Fate::mapped,
       "`parallel.offload: optimizer`; nvme becomes the host's memory", map_optimizer_device},
      {"offload_param.device", Fate::mapped,
       "`parallel.offload: parameters`, with stage 3; nvme becomes the host's memory",
       map_parameter_device},
      {"offload_optimizer.ratio", Fate::mapped, "`parallel.offload: {optimizer: RATIO}`",
       map_ratio},
      {"cpu_offload", Fate::mapped, "`parallel.offload: optimizer`: the old name",
       old_name_of("optimizer", 1)},
      {"cpu_offload_params", Fate::mapped, old_parameters, map_old_parameters},
      {"cpu_offload_param", Fate::mapped, old_parameters, map_old_parameters},
  };
}

ForeignRows pinned_rows() {
  return built_in(
      "a GPU's state is offloaded to pinned memory",
      {"offload_optimizer.pin_memory", "offload_param.pin_memory", "cpu_offload_use_pin_memory"});
}

ForeignRows file_rows() {
  return left_out(no_files, {"offload_optimizer.nvme_path", "offload_optimizer.buffer_count",
                             "offload_optimizer.pipeline_read", "offload_optimizer.pipeline_write",
                             "offload_optimizer.fast_init", "offload_param.nvme_path",
                             "offload_param.buffer_count", "offload_param.buffer_size",
                             "offload_param.max_in_cpu"});
}

} // namespace
} // namespace of_deepspeed_offload

ForeignRows deepspeed_offload_rows() {
  using namespace of_deepspeed_offload;
  constexpr std::string_view section = "zero_optimization.";
  return joined(
      {below(section, offload_rows()), below(checkpointing, recompute_rows()),
       below(section, joined({pinned_rows(), file_rows()})), left_out(no_files, {"aio.*"}),
       below(section,
             left_out("the host updates with devices.threads_per_worker threads",
                      {"offload_optimizer.super_offload", "offload_optimizer.cpuadam_cores_perc"})),
       below(checkpointing, built_in("the memory plan lays out activations; `--trace` shows a step",
                                     {"contiguous_memory_optimization",
                                      "synchronize_checkpoint_boundary", "profile"}))});
}

} // namespace troupe
