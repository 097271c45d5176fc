/// Assembles all parameters in the host's memory from the chunks that a rank gathers.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "training/state/model_state.hpp"

#include <memory>
#include <vector>

namespace troupe::training {

class GatheredParameters {
public:
  /// `state`: gives the layout of the chunks.
  explicit GatheredParameters(std::shared_ptr<const ModelState> state) : state_{std::move(state)} {}

  /// Appends a chunk. Chunks of ModelState::saved() arrive in order; the first starts a new copy.
  /// Returns whether this was the last chunk with parameters.
  bool add(const StateChunk& chunk);
  /// Moves the parameters out, by name and in canonical layout. Precondition: add() has returned
  /// true.
  StateSourcePtr take();

private:
  std::shared_ptr<const ModelState> state_;
  std::vector<float> values_;  ///< in canonical layout, one tensor after another
  std::vector<float> scratch_; ///< decoded values of one tensor
};

} // namespace troupe::training
