// DeepSpeed's keys for the communication of gradients.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"

namespace troupe {

namespace of_deepspeed_communication {
namespace {

using Context = ForeignContext;
using Entry = ForeignEntry;
using Outcome = ForeignOutcome;

Outcome map_type(const Context&, const Entry& entry) {
  const auto type = word_of(entry);
  for (const auto* known : {"fp32", "bf16", "fp16"})
    if (type == known)
      return mapped({{"parallel.mixed_precision.reduce", type}});
  if (type == "bfp16") // DeepSpeed's other word for it
    return mapped({{"parallel.mixed_precision.reduce", "bf16"}});
  return wrong(entry, "fp32, bf16, fp16");
}

Outcome map_fp32(const Context&, const Entry& entry) {
  const auto on = boolean_of(entry);
  if (!on)
    return wrong(entry, "true or false");
  if (!*on)
    return with_fate(Fate::idle, "false enables nothing");
  return mapped({{"parallel.mixed_precision.reduce", "fp32"}});
}

Outcome map_operation(const Context&, const Entry& entry) {
  if (word_of(entry) == "mean")
    return with_fate(Fate::built_in, "gradients are averaged over workers");
  if (word_of(entry) == "sum")
    return with_fate(Fate::refused, "gradients are averaged over workers; multiply the learning "
                                    "rate by their number");
  return wrong(entry, "mean, sum");
}

} // namespace
} // namespace of_deepspeed_communication

ForeignRows deepspeed_communication_rows() {
  using namespace of_deepspeed_communication;
  return {
      {.key = "communication_data_type",
       .default_value = Fate::mapped,
       .says = "`parallel.mixed_precision: {reduce: TYPE}`; default: fp32",
       .map = map_type},
      {.key = "fp32_allreduce",
       .default_value = Fate::mapped,
       .says = "`parallel.mixed_precision: {reduce: fp32}`",
       .map = map_fp32},
      {.key = "gradient_allreduce_op",
       .default_value = Fate::built_in,
       .says = "gradients are averaged over workers; sum is not supported",
       .map = map_operation},
      {.key = "prescale_gradients",
       .default_value = Fate::left_out,
       .says = "gradients are sent in fp32, which needs no scaling before the sum"},
      {.key = "gradient_predivide_factor",
       .default_value = Fate::left_out,
       .says = "gradients are sent in fp32, which needs no scaling before the sum",
       .neutral = "1.0"},
      {.key = "sparse_gradients",
       .default_value = Fate::left_out,
       .says = "gradients are sent unchanged"},
      {.key = "disable_allgather",
       .default_value = Fate::left_out,
       .says = "parameters are gathered by all-gather"},
      {.key = "seq_parallel_communication_data_type",
       .default_value = Fate::left_out,
       .says = "troupe has no sequence parallelism"},
  };
}

} // namespace troupe
