/// A copy of all parameters in the host's memory, put together of the pieces that a rank gathers.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "training/state/model_state.hpp"

#include <memory>
#include <vector>

namespace troupe::training {

class GatheredParameters {
public:
  /// `state`: knows how they lie.
  explicit GatheredParameters(std::shared_ptr<const ModelState> state) : state_{std::move(state)} {}

  /// Pieces of ModelState::saved() come in their order; the first begins a new copy. Gives whether
  /// this was the last one of the parameters.
  bool add(const StateChunk& chunk);
  /// By their names, in canonical layout; nothing of them stays here. After the last piece.
  StateSourcePtr take();

private:
  std::shared_ptr<const ModelState> state_;
  std::vector<float> values_;  ///< in canonical layout, one tensor after the other
  std::vector<float> scratch_; ///< a tensor, on its way
};

} // namespace troupe::training
