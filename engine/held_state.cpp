#include "engine/held_state.hpp"

#include <algorithm>

namespace troupe::engine {

bool HeldState::holds(std::int32_t shard) const {
  return std::ranges::count(shards.held, shard) > 0;
}

void HeldState::add(std::int32_t shard, std::vector<TensorPart> more,
                    std::shared_ptr<const float[]> values) {
  const float* next = values.get();
  for (auto& part : more) {
    const std::span of_part{next, part.elements};
    next += part.elements;
    parts.push_back({{shard, std::move(part)}, of_part});
  }
  shards.held.push_back(shard);
  storage.push_back(std::move(values));
}

HeldStates begun_with(const HeldStates& held, std::int64_t step) {
  HeldStates begun;
  for (const auto& state : held)
    if (state->shards.step == step) {
      auto applied = std::make_shared<HeldState>(*state);
      applied->shards.applied = true;
      begun.push_back(std::move(applied));
    }
  return begun;
}

std::shared_ptr<const HeldState> find_held(const HeldStates& held, std::int64_t step,
                                           std::int32_t shards) {
  const auto found = std::ranges::find_if(held, [&](const auto& state) {
    return state->shards.step == step && state->shards.shards == shards;
  });
  return found == held.end() ? nullptr : *found;
}

} // namespace troupe::engine
