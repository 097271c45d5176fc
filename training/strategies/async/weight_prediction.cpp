#include "training/strategies/async/weight_prediction.hpp"

#include "core/fail.hpp"
#include "training/strategies/async/messages.hpp"

#include <algorithm>

namespace troupe::training {

Result<WeightPrediction> WeightPrediction::create(const GradientReducerSetup& setup) {
  WeightPrediction made{setup};
  auto& device = setup.rank_state->device();
  const auto bytes = made.state().layout().plan().shard_elements() * sizeof(float);
  TROUPE_TRY(made.copy_.parameters, device.allocate(bytes, MemoryKind::parameters));
  for (const auto& slot : made.state().buffers().part().inner_slots()) {
    TROUPE_TRY(auto copy, device.allocate(slot.size_bytes(), MemoryKind::optimizer));
    made.copy_.slots.push_back(std::move(copy));
  }
  return made;
}

void WeightPrediction::begin() {
  auto& device = setup_.rank_state->device();
  device.copy(stream(), copy_.parameters->data(), state().buffers().owned_parameters().data(),
              copy_.parameters->bytes());
  const auto slots = state().buffers().part().inner_slots();
  for (std::size_t slot = 0; slot < slots.size(); ++slot)
    device.copy(stream(), copy_.slots[slot]->data(), slots[slot].data(), slots[slot].size_bytes());
}

Status WeightPrediction::add(std::int64_t step, StepSum& sum) {
  auto& device = setup_.rank_state->device();
  const auto& plan = state().layout().plan();
  TROUPE_TRY(auto values,
             device.allocate(copy_.parameters->bytes(), collectives::message_memory(device)));
  if (predicted_.empty())
    begin();
  for (std::size_t bucket = 0; bucket < plan.buckets.size(); ++bucket)
    optimizer_.apply_to(copy_, plan.buckets[bucket], sum.so_far(stream(), bucket),
                        setup_.arguments(step, std::max(sum.added(bucket), 1)));
  device.copy(stream(), values->data(), copy_.parameters->data(), values->bytes());
  stream().on_complete([values](const Status&) {}); // keeps the values alive for the stream
  predicted_.push_back(std::move(values));
  return {};
}

} // namespace troupe::training
