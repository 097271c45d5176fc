#include "importers/detail/zero_stage.hpp"

#include "importers/detail/values.hpp"

#include <fmt/format.h>

namespace troupe {

namespace {

ForeignOutcome map_device(const ForeignEntry& entry, const std::string& target) {
  const auto device = word_of(entry);
  if (is_neutral(entry))
    return with_fate(Fate::idle, "nothing is offloaded");
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

ForeignSettings zero_stage_settings(std::int64_t stage) {
  constexpr const char* names[] = {"ddp", "zero1", "zero2", "zero3"};
  if (stage < 0 || stage > 3)
    return {};
  return {{"parallel.strategy", names[stage]}};
}

ForeignOutcome map_clipping(const ForeignContext&, const ForeignEntry& entry) {
  const auto norm = number_of(entry);
  if (!norm || *norm < 0)
    return wrong(entry, "a number, at least 0");
  if (*norm == 0)
    return with_fate(Fate::idle, "0 clips nothing");
  return mapped({{"train.clip_grad_norm", number_text(*norm)}});
}

ForeignOutcome map_optimizer_device(const ForeignEntry& entry, std::int64_t stage) {
  if (stage == 0)
    return with_fate(Fate::idle, "it goes with ZeRO, which is off");
  auto outcome = map_device(entry, "optimizer");
  for (auto& setting : outcome.settings)
    setting.firmness = Firmness::weak; // offload_param includes the optimizer's state
  return outcome;
}

ForeignOutcome map_parameter_device(const ForeignEntry& entry, std::int64_t stage) {
  if (stage != 3)
    return with_fate(Fate::idle, "it goes with ZeRO stage 3");
  return map_device(entry, "parameters");
}

ForeignOutcome map_gathered_weights(const ForeignEntry& entry, std::int64_t stage) {
  const auto gathered = boolean_of(entry);
  if (!gathered)
    return wrong(entry, "true or false");
  if (stage != 3)
    return with_fate(Fate::idle, "it goes with ZeRO stage 3");
  if (*gathered)
    return mapped({{"checkpoint.state", "full"}}, "in fp32");
  return mapped({{"checkpoint.state", "sharded"}});
}

} // namespace troupe
