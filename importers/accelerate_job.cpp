// The job that accelerate starts, and its precision.
#include "core/suggestion.hpp"
#include "importers/detail/sharding.hpp"
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"
#include "importers/detail/zero_stage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace troupe {

namespace of_accelerate_job {
namespace {

const std::vector<std::string>& known_types() {
  static const std::vector<std::string> names = {
      "NO",        "MULTI_GPU",    "MULTI_CPU", "FSDP",       "DEEPSPEED",
      "MULTI_XPU", "MULTI_NPU",    "MULTI_MLU", "MULTI_SDAA", "MULTI_MUSA",
      "MULTI_HPU", "MULTI_NEURON", "XLA",       "TPU",        "MEGATRON_LM"};
  return names;
}

/// accelerate's default is stage 2.
ForeignOutcome map_deepspeed(const ForeignContext& context) {
  if (context.find("deepspeed_config.deepspeed_config_file"))
    return mapped({}, "as set in deepspeed_config_file");
  const auto stage = whole_at(context, "deepspeed_config.zero_stage").value_or(2);
  return mapped(zero_stage_settings(stage), fmt::format("ZeRO stage {}", stage));
}

ForeignOutcome map_none(const ForeignContext& context, const ForeignEntry&) {
  if (context.world.processes > 1)
    return contradicts(fmt::format(
        "NO is one process, but num_processes is {}; use MULTI_GPU, or num_processes: 1",
        context.world.processes));
  return mapped({{"parallel.strategy", "single"}});
}

ForeignOutcome map_type(const ForeignContext& context, const ForeignEntry& entry) {
  const auto& type = entry.text;
  if (type == "NO" || (entry.kind == ForeignKind::boolean && boolean_of(entry) == false))
    return map_none(context, entry);
  if (type == "MULTI_GPU" || type == "MULTI_CPU")
    return mapped({{"parallel.strategy", "ddp"}});
  if (type == "FSDP")
    return mapped(sharding_settings(context));
  if (type == "DEEPSPEED")
    return map_deepspeed(context);
  if (type == "XLA" || type == "TPU" || type == "MEGATRON_LM")
    return {Fate::refused, "troupe has neither TPUs nor Megatron-LM's tensor and pipeline "
                           "parallelism; the nearest is distributed_type: FSDP"};
  if (type.starts_with("MULTI_") && suggest(type, known_types()) == type)
    return {Fate::left_out,
            "troupe runs on CUDA GPUs and CPUs; parallel.strategy: ddp uses these",
            {{"parallel.strategy", "ddp"}}};
  return wrong(entry, fmt::format("{}", fmt::join(known_types(), ", ")),
               suggest(type, known_types()));
}

/// FSDP also gathers, sums and keeps statistics in the type.
ForeignSettings fsdp_types(const ForeignContext& context, const std::string& type) {
  ForeignSettings settings = {{"parallel.mixed_precision.reduce", type}};
  if (divides_parameters(context))
    settings.push_back({"parallel.mixed_precision.parameters", type});
  if (!is_fsdp2(context))
    settings.push_back({"parallel.mixed_precision.buffers", type});
  return settings;
}

ForeignOutcome map_mode(const ForeignContext& context, const std::string& type) {
  ForeignSettings settings = {{"precision.mode", "amp_" + type}};
  if (const auto* of = context.find("distributed_type"); of && of->text == "FSDP")
    for (auto& more : fsdp_types(context, type))
      settings.push_back(std::move(more));
  return mapped(std::move(settings));
}

ForeignOutcome map_precision(const ForeignContext& context, const ForeignEntry& entry) {
  const auto word = word_of(entry);
  if (word == "no" || word == "fp32" || (entry.kind == ForeignKind::boolean && word == "false"))
    return mapped({{"precision.mode", "fp32", Firmness::default_value}});
  if (word == "fp16" || word == "bf16")
    return map_mode(context, word);
  if (word == "fp8")
    return {Fate::refused, "troupe has no fp8; the nearest is mixed_precision: bf16"};
  return wrong(entry, "no, fp16, bf16, fp8",
               suggest(word, std::vector<std::string>{"no", "fp16", "bf16", "fp8"}));
}

ForeignOutcome map_old_fp16(const ForeignContext& context, const ForeignEntry& entry) {
  return if_on(entry, map_mode(context, "fp16"));
}

ForeignOutcome map_environment(const ForeignContext&, const ForeignEntry& entry) {
  if (entry.text == "LOCAL_MACHINE" || entry.text == "0")
    return {Fate::built_in, "troupe runs on the machine where it is started"};
  if (entry.text == "AMAZON_SAGEMAKER" || entry.text == "1")
    return {Fate::refused, "troupe starts no cloud jobs: start `troupe node` on the "
                           "machines, as docs/cluster.md shows"};
  return wrong(entry, "LOCAL_MACHINE, AMAZON_SAGEMAKER");
}

} // namespace
} // namespace of_accelerate_job

ForeignRows accelerate_job_rows() {
  using namespace of_accelerate_job;
  return {
      {"compute_environment", Fate::built_in,
       "troupe runs on the machine where it is started; AMAZON_SAGEMAKER is not supported",
       map_environment},
      {.key = "distributed_type",
       .fate = Fate::mapped,
       .says = "`parallel.strategy`: NO is single, MULTI_GPU and MULTI_CPU ddp, FSDP and DEEPSPEED "
               "follow their sections; XLA and MEGATRON_LM are not supported",
       .map = map_type,
       .needed = true},
      {"mixed_precision", Fate::mapped,
       "`precision.mode`: no is fp32, fp16 amp_fp16, bf16 amp_bf16; with FSDP also "
       "`parallel.mixed_precision`; fp8 is not supported",
       map_precision},
      {"fp16", Fate::mapped, "`precision.mode`: the old form of mixed_precision: fp16",
       map_old_fp16},
      {"use_cpu", Fate::mapped, "`devices.kind`", switch_to("devices.kind", "cpu", "auto")},
  };
}

} // namespace troupe
