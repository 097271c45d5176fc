#include "training/strategies/async/weight_prediction.hpp"

#include "core/fail.hpp"
#include "training/strategies/async/messages.hpp"

#include <algorithm>

namespace troupe::training {

Result<WeightPrediction> WeightPrediction::create(const GradientReducerSetup& setup) {
  WeightPrediction made{setup};
  auto& device = setup.rank_state->device();
  const auto bytes = made.state().layout().plan().shard_elements() * sizeof(float);
  TROUPE_TRY(made.parameters_, device.allocate(bytes, MemoryKind::parameters));
  for (const auto& slot : made.state().buffers().part().inner_slots()) {
    TROUPE_TRY(auto copy, device.allocate(slot.size_bytes(), MemoryKind::optimizer));
    made.slots_.push_back(std::move(copy));
  }
  return made;
}

void WeightPrediction::begin() {
  auto& device = setup_.rank_state->device();
  device.copy(stream(), parameters_->data(), state().buffers().owned_parameters().data(),
              parameters_->bytes());
  const auto slots = state().buffers().part().inner_slots();
  for (std::size_t slot = 0; slot < slots.size(); ++slot)
    device.copy(stream(), slots_[slot]->data(), slots[slot].data(), slots[slot].size_bytes());
}

/// Ignores everything that depends on all gradients together (clipping, loss scale).
void WeightPrediction::apply(const Bucket& bucket, const float* sum,
                             const OptimizerArguments& taken) {
  const auto place = state().layout().plan().shard_offset(bucket);
  const auto slot = [&](std::size_t number, std::size_t at) {
    return number < slots_.size() ? slots_[number]->floats() + at : nullptr;
  };
  auto chunks = state().buffers().part().kept_chunks(bucket);
  for (auto& chunk : chunks) {
    const auto at =
        static_cast<std::size_t>(chunk.parameters - state().buffers().owned_parameters().data());
    chunk.parameters = parameters_->floats() + at;
    chunk.gradients = sum + (at - place);
    chunk.state0 = slot(0, at);
    chunk.state1 = slot(1, at);
    chunk.copies = nullptr;
  }
  optimizer_step(setup_.rank_state->device(), stream(), chunks, taken, {});
}

Status WeightPrediction::add(std::int64_t step, StepSum& sum) {
  auto& device = setup_.rank_state->device();
  const auto& plan = state().layout().plan();
  TROUPE_TRY(auto values,
             device.allocate(parameters_->bytes(), collectives::message_memory(device)));
  if (predicted_.empty())
    begin();
  for (std::size_t bucket = 0; bucket < plan.buckets.size(); ++bucket)
    apply(plan.buckets[bucket], sum.so_far(stream(), bucket),
          setup_.arguments(step, std::max(sum.added(bucket), 1)));
  device.copy(stream(), values->data(), parameters_->data(), values->bytes());
  stream().on_complete([values](const Status&) {}); // keeps the values alive for the stream
  predicted_.push_back(std::move(values));
  return {};
}

} // namespace troupe::training
