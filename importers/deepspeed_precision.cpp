// fp16, bf16, amp and torch_autocast.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"

#include <fmt/format.h>

#include <cmath>

namespace troupe {

namespace of_deepspeed_precision {
namespace {

using Context = ForeignContext;
using Entry = ForeignEntry;
using Outcome = ForeignOutcome;

constexpr std::string_view fp16 = "fp16.enabled";

template <char const* mode>
Outcome map_enabled(const Context& context, const Entry& entry) {
  const auto on = boolean_of(entry);
  if (!on)
    return wrong(entry, "true or false, or \"auto\"");
  if (!*on)
    return with_fate(Fate::idle, "false enables nothing");
  ForeignSettings settings = {{"precision.mode", mode}};
  if (entry.key == fp16 && !context.find("fp16.loss_scale_window")) // 2000 is PyTorch's
    settings.push_back({"precision.loss_scale.growth_interval", "1000", Firmness::default_value});
  return mapped(std::move(settings), "parameters are kept in fp32, as in DeepSpeed");
}

constexpr char amp_fp16[] = "amp_fp16", amp_bf16[] = "amp_bf16";

/// 0 makes the scale dynamic; any other scale is static, which troupe expresses as one that never
/// grows.
Outcome map_scale(const Context&, const Entry& entry) {
  const auto scale = number_of(entry);
  if (!scale || *scale < 0)
    return wrong(entry, "a number, at least 0");
  if (*scale == 0)
    return with_fate(Fate::built_in, "0 is a dynamic scale");
  return mapped({{"precision.loss_scale.initial", number_text(*scale)},
                 {"precision.loss_scale.growth_interval", "2000000000"}},
                "it never grows; an overflow still halves it");
}

bool scale_is_static(const Context& context) {
  return number_at(context, "fp16.loss_scale").value_or(0) > 0;
}

Outcome map_power(const Context& context, const Entry& entry) {
  const auto power = whole_of(entry);
  if (!power || *power < 0 || *power > 99)
    return wrong(entry, "a whole number, 0 to 99");
  if (scale_is_static(context))
    return with_fate(Fate::idle, "loss_scale sets the scale");
  return mapped({{"precision.loss_scale.initial", number_text(std::exp2(*power))}});
}

Outcome map_window(const Context& context, const Entry& entry) {
  const auto steps = whole_of(entry);
  if (!steps || *steps < 1)
    return wrong(entry, "a whole number, at least 1");
  if (scale_is_static(context))
    return with_fate(Fate::idle, "loss_scale sets the scale");
  return mapped({{"precision.loss_scale.growth_interval", fmt::format("{}", *steps)}});
}

Outcome map_autocast_type(const Context&, const Entry& entry) {
  const auto type = word_of(entry);
  if (type == "bfloat16" || type == "bf16" || type == "torch.bfloat16")
    return mapped({{"precision.mode", "amp_bf16"}});
  if (type == "float16" || type == "fp16" || type == "half" || type == "torch.float16")
    return mapped({{"precision.mode", "amp_fp16"}});
  return wrong(entry, "bfloat16, float16");
}

ForeignRows fp16_rows() {
  return {
      {.key = "fp16.enabled",
       .default_value = Fate::mapped,
       .says = "`precision.mode: amp_fp16`",
       .map = map_enabled<amp_fp16>},
      {.key = "fp16.loss_scale",
       .default_value = Fate::mapped,
       .says = "`precision.loss_scale`: 0 is dynamic, the default; any other value is the initial "
               "scale, which never grows",
       .when = fp16,
       .map = map_scale},
      {.key = "fp16.initial_scale_power",
       .default_value = Fate::mapped,
       .says = "`precision.loss_scale: {initial: N}`: 2 to this power",
       .when = fp16,
       .map = map_power},
      {.key = "fp16.loss_scale_window",
       .default_value = Fate::mapped,
       .says = "`precision.loss_scale: {growth_interval: N}`; default: 1000",
       .when = fp16,
       .map = map_window},
      {.key = "fp16.hysteresis",
       .default_value = Fate::left_out,
       .says = "each overflow halves the scale, as in PyTorch's GradScaler",
       .when = fp16,
       .neutral = "1"},
      {.key = "fp16.consecutive_hysteresis",
       .default_value = Fate::left_out,
       .says = "each overflow halves the scale, as in PyTorch's GradScaler",
       .when = fp16},
      {.key = "fp16.min_loss_scale",
       .default_value = Fate::left_out,
       .says = "the scale may fall below it, as in PyTorch's GradScaler",
       .when = fp16},
      {.key = "fp16.auto_cast",
       .default_value = Fate::built_in,
       .says = "inputs are cast to the type of the op that reads them"},
      {.key = "fp16.fp16_master_weights_and_grads",
       .default_value = Fate::refused,
       .says = "parameters are kept in fp32; precision.mode: fp16 keeps all in fp16",
       .when = fp16},
  };
}

ForeignRows bf16_rows() {
  return {
      {.key = "bf16.enabled",
       .default_value = Fate::mapped,
       .says = "`precision.mode: amp_bf16`",
       .map = map_enabled<amp_bf16>},
      {.key = "bf16.immediate_grad_update",
       .default_value = Fate::built_in,
       .says = "gradients are summed in fp32 as backward computes them"},
      {.key = "bf16.check_grad_overflow",
       .default_value = Fate::built_in,
       .says = "a loss that is not finite ends the run with an error"},
      {.key = "bf16.bf16_master_weights_and_grads",
       .default_value = Fate::refused,
       .says = "parameters are kept in fp32; precision.mode: bf16 keeps all in bf16",
       .when = "bf16.enabled"},
      {.key = "bf16.bf16_optimizer_states",
       .default_value = Fate::refused,
       .says = "the optimizer's state is kept in fp32; precision.mode: bf16 keeps all in bf16",
       .when = "bf16.enabled"},
  };
}

ForeignRows autocast_rows() {
  return {
      {.key = "amp.enabled",
       .default_value = Fate::mapped,
       .says = "`precision.mode: amp_fp16`: autocast, like apex's level O1",
       .map = map_enabled<amp_fp16>},
      {.key = "amp.*",
       .default_value = Fate::left_out,
       .says = "autocast uses the same types as PyTorch's; model.autocast_off switches it off for "
               "modules",
       .when = "amp.enabled"},
      {.key = "torch_autocast.enabled",
       .default_value = Fate::mapped,
       .says = "`precision.mode`, together with dtype",
       .map =
           [](const Context& context, const Entry& entry) {
             if (!boolean_of(entry))
               return wrong(entry, "true or false");
             if (boolean_of(entry) == false)
               return with_fate(Fate::idle, "false enables nothing");
             return context.find("torch_autocast.dtype") ? mapped({}, "dtype selects the mode")
                                                         : mapped({{"precision.mode", "amp_bf16"}});
           }},
      {.key = "torch_autocast.dtype",
       .default_value = Fate::mapped,
       .says = "`precision.mode`: bfloat16 is amp_bf16, float16 amp_fp16",
       .when = "torch_autocast.enabled",
       .map = map_autocast_type},
      {.key = "torch_autocast.lower_precision_safe_modules",
       .default_value = Fate::refused,
       .says = "the ops of PyTorch's autocast run in the lower type; model.autocast_off names "
               "modules that do not"},
      {.key = "data_types.grad_accum_dtype",
       .default_value = Fate::refused,
       .says = "micro-batches are summed in fp32",
       .neutral = "fp32"},
      {.key = "data_types.param_dtype",
       .default_value = Fate::refused,
       .says = "precision.mode: fp16 and bf16 keep the parameters in that type",
       .neutral = "fp32"},
      {.key = "data_types.buffer_dtype",
       .default_value = Fate::refused,
       .says = "use parallel.mixed_precision: {buffers: TYPE}",
       .neutral = "fp32"},
  };
}

} // namespace
} // namespace of_deepspeed_precision

ForeignRows deepspeed_precision_rows() {
  using namespace of_deepspeed_precision;
  auto rows = fp16_rows();
  for (auto* part : {bf16_rows, autocast_rows})
    for (auto& row : part())
      rows.push_back(row);
  return rows;
}

} // namespace troupe
