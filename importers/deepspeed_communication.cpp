// DeepSpeed's keys for the communication of gradients.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"

namespace troupe {

namespace of_deepspeed_communication {
namespace {

ForeignOutcome map_type(const ForeignContext&, const ForeignEntry& entry) {
  const auto type = word_of(entry);
  for (const auto* known : {"fp32", "bf16", "fp16"})
    if (type == known)
      return mapped({{"parallel.mixed_precision.reduce", type}});
  if (type == "bfp16") // DeepSpeed's other word for it
    return mapped({{"parallel.mixed_precision.reduce", "bf16"}});
  return wrong(entry, "fp32, bf16, fp16");
}

ForeignOutcome map_fp32(const ForeignContext&, const ForeignEntry& entry) {
  return if_on(entry, mapped({{"parallel.mixed_precision.reduce", "fp32"}}));
}

ForeignOutcome map_operation(const ForeignContext&, const ForeignEntry& entry) {
  if (word_of(entry) == "mean")
    return {Fate::built_in, "gradients are averaged over workers"};
  if (word_of(entry) == "sum")
    return {Fate::refused, "gradients are averaged over workers; multiply the learning "
                           "rate by their number"};
  return wrong(entry, "mean, sum");
}

} // namespace
} // namespace of_deepspeed_communication

ForeignRows deepspeed_communication_rows() {
  using namespace of_deepspeed_communication;
  const std::string_view sums = "gradients are sent in fp32, which needs no scaling before the sum";
  return {
      {"communication_data_type", Fate::mapped,
       "`parallel.mixed_precision: {reduce: TYPE}`; default: fp32", map_type},
      {"fp32_allreduce", Fate::mapped, "`parallel.mixed_precision: {reduce: fp32}`", map_fp32},
      {"gradient_allreduce_op", Fate::built_in,
       "gradients are averaged over workers; sum is not supported", map_operation},
      {"prescale_gradients", Fate::left_out, sums},
      {.key = "gradient_predivide_factor", .fate = Fate::left_out, .says = sums, .neutral = "1.0"},
      {"sparse_gradients", Fate::left_out, "gradients are sent unchanged"},
      {"disable_allgather", Fate::left_out, "parameters are gathered by all-gather"},
      {"seq_parallel_communication_data_type", Fate::left_out,
       "troupe has no sequence parallelism"},
  };
}

} // namespace troupe
