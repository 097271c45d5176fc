// fp16, bf16, amp and torch_autocast.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"

#include <fmt/format.h>

#include <cmath>

namespace troupe {

namespace of_deepspeed_precision {
namespace {

constexpr std::string_view fp16 = "fp16.enabled";

ForeignMap enables(const char* mode) {
  return [mode](const ForeignContext& context, const ForeignEntry& entry) {
    ForeignSettings settings = {{"precision.mode", mode}};
    if (entry.key == fp16 && !context.find("fp16.loss_scale_window")) // 2000 is PyTorch's
      settings.push_back({"precision.loss_scale.growth_interval", "1000", Firmness::default_value});
    return if_on(entry, mapped(std::move(settings), "parameters are kept in fp32, as in DeepSpeed"),
                 "true or false, or \"auto\"");
  };
}

/// 0 makes the scale dynamic; any other scale is static, which troupe expresses as one that never
/// grows.
ForeignOutcome map_scale(const ForeignContext&, const ForeignEntry& entry) {
  const auto scale = number_of(entry);
  if (!scale || *scale < 0)
    return wrong(entry, "a number, at least 0");
  if (*scale == 0)
    return {Fate::built_in, "0 is a dynamic scale"};
  return mapped({{"precision.loss_scale.initial", fmt::format("{}", *scale)},
                 {"precision.loss_scale.growth_interval", "2000000000"}},
                "it never grows; an overflow still halves it");
}

bool scale_is_static(const ForeignContext& context) {
  return number_at(context, "fp16.loss_scale").value_or(0) > 0;
}

ForeignOutcome map_power(const ForeignContext& context, const ForeignEntry& entry) {
  const auto power = whole_of(entry);
  if (!power || *power < 0 || *power > 99)
    return wrong(entry, "a whole number, 0 to 99");
  if (scale_is_static(context))
    return {Fate::idle, "loss_scale sets the scale"};
  return mapped({{"precision.loss_scale.initial", fmt::format("{}", std::exp2(*power))}});
}

ForeignOutcome map_window(const ForeignContext& context, const ForeignEntry& entry) {
  const auto steps = whole_of(entry);
  if (!steps || *steps < 1)
    return wrong(entry, "a whole number, at least 1");
  if (scale_is_static(context))
    return {Fate::idle, "loss_scale sets the scale"};
  return mapped({{"precision.loss_scale.growth_interval", fmt::format("{}", *steps)}});
}

ForeignOutcome map_autocast_type(const ForeignContext&, const ForeignEntry& entry) {
  const auto type = word_of(entry);
  if (type == "bfloat16" || type == "bf16" || type == "torch.bfloat16")
    return mapped({{"precision.mode", "amp_bf16"}});
  if (type == "float16" || type == "fp16" || type == "half" || type == "torch.float16")
    return mapped({{"precision.mode", "amp_fp16"}});
  return wrong(entry, "bfloat16, float16");
}

ForeignOutcome map_autocast(const ForeignContext& context, const ForeignEntry& entry) {
  return if_on(entry, context.find("torch_autocast.dtype")
                          ? mapped({}, "dtype selects the mode")
                          : mapped({{"precision.mode", "amp_bf16"}}));
}

ForeignRows fp16_scale_rows() {
  const std::string_view halves = "each overflow halves the scale, as in PyTorch's GradScaler";
  return {
      {"loss_scale", Fate::mapped,
       "`precision.loss_scale`: 0 is dynamic, the default; any other value is the initial scale, "
       "which never grows",
       map_scale},
      {"initial_scale_power", Fate::mapped, "`precision.loss_scale: {initial: N}`: 2 to this power",
       map_power},
      {"loss_scale_window", Fate::mapped,
       "`precision.loss_scale: {growth_interval: N}`; default: 1000", map_window},
      {.key = "hysteresis", .fate = Fate::left_out, .says = halves, .neutral = "1"},
      {"consecutive_hysteresis", Fate::left_out, halves},
      {"min_loss_scale", Fate::left_out, "the scale may fall below it, as in PyTorch's GradScaler"},
      {"auto_cast", Fate::built_in, "inputs are cast to the type of the op that reads them"},
      {"fp16_master_weights_and_grads", Fate::refused,
       "parameters are kept in fp32; precision.mode: fp16 keeps all in fp16"},
  };
}

ForeignRows fp16_rows() {
  return joined(
      {{{"fp16.enabled", Fate::mapped, "`precision.mode: amp_fp16`", enables("amp_fp16")}},
       only_with(fp16, below("fp16.", fp16_scale_rows()))});
}

ForeignRows bf16_rows() {
  const std::string_view bf16 = "bf16.enabled";
  return {
      {"bf16.enabled", Fate::mapped, "`precision.mode: amp_bf16`", enables("amp_bf16")},
      {"bf16.immediate_grad_update", Fate::built_in,
       "gradients are summed in fp32 as backward computes them"},
      {"bf16.check_grad_overflow", Fate::built_in,
       "a loss that is not finite ends the run with an error"},
      {.key = "bf16.bf16_master_weights_and_grads",
       .fate = Fate::refused,
       .says = "parameters are kept in fp32; precision.mode: bf16 keeps all in bf16",
       .when = bf16},
      {.key = "bf16.bf16_optimizer_states",
       .fate = Fate::refused,
       .says = "the optimizer's state is kept in fp32; precision.mode: bf16 keeps all in bf16",
       .when = bf16},
  };
}

ForeignRows autocast_rows() {
  return {
      {"amp.enabled", Fate::mapped, "`precision.mode: amp_fp16`: autocast, like apex's level O1",
       enables("amp_fp16")},
      {.key = "amp.*",
       .fate = Fate::left_out,
       .says = "autocast uses the same types as PyTorch's; model.autocast_off switches it off for "
               "modules",
       .when = "amp.enabled"},
      {"torch_autocast.enabled", Fate::mapped, "`precision.mode`, together with dtype",
       map_autocast},
      {"torch_autocast.dtype", Fate::mapped,
       "`precision.mode`: bfloat16 is amp_bf16, float16 amp_fp16", map_autocast_type,
       "torch_autocast.enabled"},
      {"torch_autocast.lower_precision_safe_modules", Fate::refused,
       "the ops of PyTorch's autocast run in the lower type; model.autocast_off names modules that "
       "do not"},
  };
}

ForeignRows type_rows() {
  ForeignRows rows = {
      {"grad_accum_dtype", Fate::refused, "micro-batches are summed in fp32"},
      {"param_dtype", Fate::refused,
       "precision.mode: fp16 and bf16 keep the parameters in that type"},
      {"buffer_dtype", Fate::refused, "use parallel.mixed_precision: {buffers: TYPE}"},
  };
  for (auto& row : rows)
    row.neutral = "fp32";
  return below("data_types.", std::move(rows));
}

} // namespace
} // namespace of_deepspeed_precision

ForeignRows deepspeed_precision_rows() {
  using namespace of_deepspeed_precision;
  return joined({fp16_rows(), bf16_rows(), autocast_rows(), type_rows()});
}

} // namespace troupe
