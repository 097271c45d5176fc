#include "training/retained_state.hpp"

#include <algorithm>

namespace troupe::training {

bool RetainedState::holds(std::int32_t shard) const {
  return std::ranges::count(shards.retained, shard) > 0;
}

void RetainedState::add(std::int32_t shard, std::vector<TensorPart> more,
                        std::shared_ptr<const float[]> values) {
  const float* next = values.get();
  for (auto& part : more) {
    const std::span of_part{next, part.elements};
    next += part.elements;
    parts.push_back({{shard, std::move(part)}, of_part});
  }
  shards.retained.push_back(shard);
  storage.push_back(std::move(values));
}

RetainedStates begun_with(const RetainedStates& retained, std::int64_t step) {
  RetainedStates begun;
  for (const auto& state : retained)
    if (state->shards.step == step) {
      auto applied = std::make_shared<RetainedState>(*state);
      applied->shards.applied = true;
      begun.push_back(std::move(applied));
    }
  return begun;
}

std::shared_ptr<const RetainedState> find_retained(const RetainedStates& retained,
                                                   std::int64_t step, std::int32_t shards) {
  const auto found = std::ranges::find_if(retained, [&](const auto& state) {
    return state->shards.step == step && state->shards.shards == shards;
  });
  return found == retained.end() ? nullptr : *found;
}

} // namespace troupe::training
