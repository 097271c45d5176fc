#include "training/state/state_assembler.hpp"

#include <algorithm>
#include <utility>

namespace troupe::training {

void StateAssembler::begin() {
  const auto entries = plan_.entries(chunks_);
  std::size_t elements = 0;
  for (const auto& entry : entries)
    elements += static_cast<std::size_t>(entry.shape.elements());
  const std::shared_ptr<std::byte[]> storage{new std::byte[elements * sizeof(float)]};
  checkpoint_ = {};
  checkpoint_.storage = storage;
  next_ = reinterpret_cast<float*>(storage.get());
  const float* at = next_;
  for (const auto& [name, shape] : entries) {
    const auto size = static_cast<std::size_t>(shape.elements());
    checkpoint_.tensors.push_back({name, shape, {at, size}});
    at += size;
  }
}

bool StateAssembler::add(std::size_t index, const float* values) {
  if (index == 0)
    begin();
  for_each_range(plan_[index], values, [this](const StateRange& range, const float* stored) {
    next_ = std::ranges::copy(in_canonical_layout(range, stored, scratch_), next_).out;
  });
  return index + 1 == chunks_;
}

Checkpoint StateAssembler::take() {
  std::exchange(scratch_, {});
  return std::exchange(checkpoint_, {});
}

} // namespace troupe::training
