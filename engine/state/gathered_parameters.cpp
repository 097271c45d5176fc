#include "engine/state/gathered_parameters.hpp"

#include <span>
#include <utility>

namespace troupe::engine {

bool GatheredParameters::add(const StatePiece& piece) {
  const auto& pieces = state_->saved();
  if (piece.index == 0) {
    values_.clear();
    values_.reserve(state_->plan().elements);
  }
  const float* stored = piece.values.data();
  for (const auto& range : pieces[piece.index].ranges) {
    const auto values = in_canonical_layout(range, stored, scratch_);
    values_.insert(values_.end(), values.begin(), values.end());
    stored += range.elements;
  }
  return piece.index + 1 == count_parameter_pieces(pieces);
}

StateSourcePtr GatheredParameters::take() {
  const auto values = std::make_shared<const std::vector<float>>(std::exchange(values_, {}));
  std::exchange(scratch_, {});
  const auto pieces = std::span{state_->saved()}.first(count_parameter_pieces(state_->saved()));
  Checkpoint copy;
  const float* first = values->data();
  for (auto& [name, shape] : saved_entries(pieces, {})) {
    const auto elements = static_cast<std::size_t>(shape.elements());
    copy.tensors.push_back({std::move(name), shape, {first, elements}});
    first += elements;
  }
  copy.storage = {values, reinterpret_cast<const std::byte*>(values->data())};
  return state_in_memory(std::move(copy));
}

} // namespace troupe::engine
