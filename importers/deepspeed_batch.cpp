// Batch sizes.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace of_deepspeed_batch {
namespace {

constexpr std::int64_t largest = 1'000'000; // keeps products of three far from overflow

struct Given {
  std::optional<std::int64_t> total, micro, accumulate;
};

std::optional<std::int64_t> count_of(const ForeignEntry& entry) {
  const auto value = whole_of(entry);
  return value && *value >= 1 && *value <= largest ? value : std::nullopt;
}

std::optional<std::int64_t> count_at(const ForeignContext& context, std::string_view key) {
  const auto* entry = context.find(key);
  return entry ? count_of(*entry) : std::nullopt;
}

Given given(const ForeignContext& context) {
  return {count_at(context, "train_batch_size"),
          count_at(context, "train_micro_batch_size_per_gpu"),
          count_at(context, "gradient_accumulation_steps")};
}

/// The numbers that define a batch. DeepSpeed derives the missing ones from the others.
struct ForeignBatch {
  std::int64_t total = 0; ///< 0: neither it nor a micro-batch is given
  std::int64_t accumulate = 1;
  std::string contradiction = {}; ///< why they do not match
};

ForeignBatch batch_of(const ForeignContext& context) {
  const auto [total, micro, accumulate] = given(context);
  const auto world = context.world.processes;
  if (!total)
    return {micro ? *micro * accumulate.value_or(1) * world : 0, accumulate.value_or(1)};
  const auto made = micro && !accumulate ? std::max<std::int64_t>(1, *total / *micro / world)
                                         : accumulate.value_or(1);
  ForeignBatch batch{*total, made};
  if (micro ? *micro * made * world != *total : *total % (made * world) != 0)
    batch.contradiction =
        micro ? fmt::format("{} is not train_micro_batch_size_per_gpu {} x "
                            "gradient_accumulation_steps {} x {} processes",
                            *total, *micro, made, world)
              : fmt::format("{} is not divisible by {} processes x gradient_accumulation_steps {}",
                            *total, world, made);
  return batch;
}

const std::string count = "a whole number, 1 to 1000000, or \"auto\"";

ForeignOutcome map_total(const ForeignContext& context, const ForeignEntry& entry) {
  if (!count_of(entry))
    return wrong(entry, count);
  const auto batch = batch_of(context);
  if (!batch.contradiction.empty())
    return contradicts(batch.contradiction);
  return mapped({{"data.batch_size", fmt::format("{}", batch.total)},
                 {"train.accumulate", fmt::format("{}", batch.accumulate)},
                 {"devices.count", fmt::format("{}", context.world.per_machine())}});
}

ForeignOutcome map_micro(const ForeignContext& context, const ForeignEntry& entry) {
  if (!count_of(entry))
    return wrong(entry, count);
  const auto batch = batch_of(context);
  return mapped({{"data.batch_size", fmt::format("{}", batch.total)}},
                fmt::format("with gradient_accumulation_steps {} and {} processes",
                            batch.accumulate, context.world.processes));
}

ForeignOutcome map_accumulation(const ForeignContext&, const ForeignEntry& entry) {
  if (!count_of(entry))
    return wrong(entry, count);
  return mapped({{"train.accumulate", fmt::format("{}", *count_of(entry))}});
}

ForeignOutcome map_managed(const ForeignContext&, const ForeignEntry& entry) {
  if (boolean_of(entry) == true)
    return {Fate::built_in, "gradients are averaged over train.accumulate micro-batches"};
  return {Fate::refused, "a step is always taken after train.accumulate micro-batches"};
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

ForeignWorld deepspeed_world(const ForeignDocument& document) {
  using namespace of_deepspeed_batch;
  const auto [total, micro, accumulate] = given({.document = document, .world = {}});
  if (!total || !micro || !accumulate || *total % (*micro * *accumulate) != 0)
    return {};
  return {1, *total / (*micro * *accumulate), true};
}

} // namespace troupe
