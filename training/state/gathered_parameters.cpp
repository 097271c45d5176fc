#include "training/state/gathered_parameters.hpp"

#include <span>
#include <utility>

namespace troupe::training {

bool GatheredParameters::add(const StateChunk& chunk) {
  const auto& chunks = state_->saved();
  if (chunk.index == 0) {
    values_.clear();
    values_.reserve(state_->plan().elements);
  }
  const float* stored = chunk.values.data();
  for (const auto& range : chunks[chunk.index].ranges) {
    const auto values = in_canonical_layout(range, stored, scratch_);
    values_.insert(values_.end(), values.begin(), values.end());
    stored += range.elements;
  }
  return chunk.index + 1 == count_parameter_chunks(chunks);
}

StateSourcePtr GatheredParameters::take() {
  const auto values = std::make_shared<const std::vector<float>>(std::exchange(values_, {}));
  std::exchange(scratch_, {});
  const auto chunks = std::span{state_->saved()}.first(count_parameter_chunks(state_->saved()));
  Checkpoint copy;
  const float* first = values->data();
  for (auto& [name, shape] : saved_entries(chunks, {})) {
    const auto elements = static_cast<std::size_t>(shape.elements());
    copy.tensors.push_back({std::move(name), shape, {first, elements}});
    first += elements;
  }
  copy.storage = {values, reinterpret_cast<const std::byte*>(values->data())};
  return state_in_memory(std::move(copy));
}

} // namespace troupe::training
