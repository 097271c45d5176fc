#include "importers/detail/deepspeed_batch.hpp"

#include "importers/detail/values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

constexpr std::int64_t largest = 1'000'000; // keeps products of three far from overflow

struct Given {
  std::optional<std::int64_t> total, micro, accumulate;
};

std::optional<std::int64_t> count_at(const ForeignContext& context, std::string_view key) {
  const auto value = whole_at(context, key);
  return value && *value >= 1 && *value <= largest ? value : std::nullopt;
}

Given given(const ForeignContext& context) {
  return {count_at(context, "train_batch_size"),
          count_at(context, "train_micro_batch_size_per_gpu"),
          count_at(context, "gradient_accumulation_steps")};
}

} // namespace

ForeignBatch deepspeed_batch(const ForeignContext& context) {
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

ForeignWorld deepspeed_world(const ForeignDocument& document) {
  const auto [total, micro, accumulate] = given({.document = document, .world = {}});
  if (!total || !micro || !accumulate || *total % (*micro * *accumulate) != 0)
    return {};
  return {1, *total / (*micro * *accumulate), true};
}

} // namespace troupe
