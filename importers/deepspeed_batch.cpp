// Batch sizes.
#include "importers/detail/deepspeed_batch.hpp"

#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"

#include <fmt/format.h>

namespace troupe {

namespace of_deepspeed_batch {
namespace {

using Context = ForeignContext;
using Entry = ForeignEntry;
using Outcome = ForeignOutcome;

bool is_count(const Entry& entry) {
  const auto count = whole_of(entry);
  return count && *count >= 1 && *count <= 1'000'000;
}

const std::string count = "a whole number, 1 to 1000000, or \"auto\"";

Outcome map_total(const Context& context, const Entry& entry) {
  if (!is_count(entry))
    return wrong(entry, count);
  const auto batch = deepspeed_batch(context);
  if (!batch.contradiction.empty())
    return contradicts(batch.contradiction);
  return mapped({{"data.batch_size", fmt::format("{}", batch.total)},
                 {"train.accumulate", fmt::format("{}", batch.accumulate)},
                 {"devices.count", fmt::format("{}", context.world.per_machine())}});
}

Outcome map_micro(const Context& context, const Entry& entry) {
  if (!is_count(entry))
    return wrong(entry, count);
  const auto batch = deepspeed_batch(context);
  return mapped({{"data.batch_size", fmt::format("{}", batch.total)}},
                fmt::format("with gradient_accumulation_steps {} and {} processes",
                            batch.accumulate, context.world.processes));
}

Outcome map_accumulation(const Context&, const Entry& entry) {
  if (!is_count(entry))
    return wrong(entry, count);
  return mapped({{"train.accumulate", fmt::format("{}", *whole_of(entry))}});
}

Outcome map_drop_last(const Context&, const Entry& entry) {
  const auto on = boolean_of(entry);
  if (!on)
    return wrong(entry, "true or false");
  return mapped({{"data.drop_last", *on ? "true" : "false"}});
}

Outcome map_managed(const Context&, const Entry& entry) {
  if (boolean_of(entry) == true)
    return with_fate(Fate::built_in, "gradients are averaged over train.accumulate micro-batches");
  return with_fate(Fate::refused, "a step is always taken after train.accumulate micro-batches");
}

} // namespace
} // namespace of_deepspeed_batch

ForeignRows deepspeed_batch_rows() {
  using namespace of_deepspeed_batch;
  return {
      {.key = "train_batch_size",
       .default_value = Fate::mapped,
       .says = "`data.batch_size`, which also counts all workers and micro-batches; if all three "
               "are given, also `devices.count`",
       .map = map_total},
      {.key = "train_micro_batch_size_per_gpu",
       .default_value = Fate::mapped,
       .says = "`data.batch_size`: times gradient_accumulation_steps, times processes",
       .map = map_micro},
      {.key = "gradient_accumulation_steps",
       .default_value = Fate::mapped,
       .says = "`train.accumulate`",
       .map = map_accumulation},
      {.key = "managed_gradient_accumulation",
       .default_value = Fate::built_in,
       .says = "gradients are averaged over `train.accumulate` micro-batches; false is not "
               "supported",
       .map = map_managed},
      {.key = "dataloader_drop_last",
       .default_value = Fate::mapped,
       .says = "`data.drop_last`",
       .map = map_drop_last},
  };
}

} // namespace troupe
