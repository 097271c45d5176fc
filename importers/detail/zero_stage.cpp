#include "importers/detail/zero_stage.hpp"

#include "importers/detail/values.hpp"

#include <fmt/format.h>

namespace troupe {

namespace {

/// Returns the stage in the entry's file. accelerate's default is stage 2.
std::int64_t stage_beside(const ForeignEntry& entry, const ForeignContext& context) {
  return entry.key.starts_with("deepspeed_config.")
             ? whole_at(context, "deepspeed_config.zero_stage").value_or(2)
             : deepspeed_stage(context);
}

ForeignOutcome map_device(const ForeignEntry& entry, const std::string& target) {
  const auto device = word_of(entry);
  if (is_neutral(entry))
    return {Fate::idle, "nothing is offloaded"};
  if (device == "cpu")
    return mapped({{"parallel.offload", target}});
  if (device == "nvme")
    return {Fate::left_out,
            fmt::format("troupe offloads to the host's memory, not to files: "
                        "parallel.offload: {}",
                        target),
            {{"parallel.offload", target}}};
  return wrong(entry, "none, cpu, nvme");
}

} // namespace

std::int64_t deepspeed_stage(const ForeignContext& context) {
  return whole_at(context, "zero_optimization.stage").value_or(0);
}

ForeignSettings zero_stage_settings(std::int64_t stage) {
  constexpr const char* names[] = {"ddp", "zero1", "zero2", "zero3"};
  if (stage < 0 || stage > 3)
    return {};
  return {{"parallel.strategy", names[stage]}};
}

ForeignOutcome map_zero_stage(const ForeignContext&, const ForeignEntry& entry) {
  auto settings = zero_stage_settings(whole_of(entry).value_or(-1));
  return settings.empty() ? wrong(entry, "0, 1, 2, 3") : mapped(std::move(settings));
}

ForeignOutcome map_clipping(const ForeignContext&, const ForeignEntry& entry) {
  const auto norm = number_of(entry);
  if (!norm || *norm < 0)
    return wrong(entry, "a number, at least 0");
  if (*norm == 0)
    return {Fate::idle, "0 clips nothing"};
  return mapped({{"train.clip_grad", fmt::format("{}", *norm)}});
}

ForeignOutcome map_optimizer_device(const ForeignContext& context, const ForeignEntry& entry) {
  if (stage_beside(entry, context) == 0)
    return {Fate::idle, "it goes with ZeRO, which is off"};
  auto outcome = map_device(entry, "optimizer");
  for (auto& setting : outcome.settings)
    setting.firmness = Firmness::weak; // offload_param includes the optimizer's state
  return outcome;
}

ForeignOutcome map_parameter_device(const ForeignContext& context, const ForeignEntry& entry) {
  if (stage_beside(entry, context) != 3)
    return {Fate::idle, "it goes with ZeRO stage 3"};
  return map_device(entry, "parameters");
}

ForeignOutcome map_gathered_weights(const ForeignContext& context, const ForeignEntry& entry) {
  const auto gathered = boolean_of(entry);
  if (!gathered)
    return wrong(entry, "true or false");
  if (stage_beside(entry, context) != 3)
    return {Fate::idle, "it goes with ZeRO stage 3"};
  if (*gathered)
    return mapped({{"checkpoint.state", "full"}}, "in fp32");
  return mapped({{"checkpoint.state", "sharded"}});
}

} // namespace troupe
