// Batch sizes.
#include "importers/detail/deepspeed_batch.hpp"

#include "importers/detail/maps.hpp"
#include "importers/detail/tables.hpp"

#include <fmt/format.h>

namespace troupe {

namespace of_deepspeed_batch {
namespace {

bool is_count(const ForeignEntry& entry) {
  const auto count = whole_of(entry);
  return count && *count >= 1 && *count <= 1'000'000;
}

const std::string count = "a whole number, 1 to 1000000, or \"auto\"";

ForeignOutcome map_total(const ForeignContext& context, const ForeignEntry& entry) {
  if (!is_count(entry))
    return wrong(entry, count);
  const auto batch = deepspeed_batch(context);
  if (!batch.contradiction.empty())
    return contradicts(batch.contradiction);
  return mapped({{"data.batch_size", fmt::format("{}", batch.total)},
                 {"train.accumulate", fmt::format("{}", batch.accumulate)},
                 {"devices.count", fmt::format("{}", context.world.per_machine())}});
}

ForeignOutcome map_micro(const ForeignContext& context, const ForeignEntry& entry) {
  if (!is_count(entry))
    return wrong(entry, count);
  const auto batch = deepspeed_batch(context);
  return mapped({{"data.batch_size", fmt::format("{}", batch.total)}},
                fmt::format("with gradient_accumulation_steps {} and {} processes",
                            batch.accumulate, context.world.processes));
}

ForeignOutcome map_accumulation(const ForeignContext&, const ForeignEntry& entry) {
  if (!is_count(entry))
    return wrong(entry, count);
  return mapped({{"train.accumulate", fmt::format("{}", *whole_of(entry))}});
}

ForeignOutcome map_managed(const ForeignContext&, const ForeignEntry& entry) {
  if (boolean_of(entry) == true)
    return with_fate(Fate::built_in, "gradients are averaged over train.accumulate micro-batches");
  return with_fate(Fate::refused, "a step is always taken after train.accumulate micro-batches");
}

} // namespace
} // namespace of_deepspeed_batch

ForeignRows deepspeed_batch_rows() {
  using namespace of_deepspeed_batch;
  return {
      {"train_batch_size", Fate::mapped,
       "`data.batch_size`, which also counts all workers and micro-batches; if all three are "
       "given, also `devices.count`",
       map_total},
      {"train_micro_batch_size_per_gpu", Fate::mapped,
       "`data.batch_size`: times gradient_accumulation_steps, times processes", map_micro},
      {"gradient_accumulation_steps", Fate::mapped, "`train.accumulate`", map_accumulation},
      {"managed_gradient_accumulation", Fate::built_in,
       "gradients are averaged over `train.accumulate` micro-batches; false is not supported",
       map_managed},
      {"dataloader_drop_last", Fate::mapped, "`data.drop_last`", switch_to("data.drop_last")},
  };
}

} // namespace troupe
