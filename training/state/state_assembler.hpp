/// Assembles a state, or its parameters, in the host's memory in canonical layout, from chunks that
/// arrive in the order of their plan.
#pragma once

#include "training/state/state_plan.hpp"

#include <cstddef>
#include <vector>

namespace troupe::training {

class StateAssembler {
public:
  /// Takes the first `chunks` chunks of `plan`, which must outlive the assembler.
  StateAssembler(const StatePlan& plan, std::size_t chunks) : plan_{plan}, chunks_{chunks} {}

  /// Appends the values of a chunk; the first starts a new state. Returns whether it was the last.
  bool add(std::size_t index, const float* values);
  /// Moves the tensors out. Precondition: add() has returned true.
  Checkpoint take();

private:
  void begin();

  const StatePlan& plan_;
  std::size_t chunks_;
  Checkpoint checkpoint_;
  float* next_ = nullptr;
  std::vector<float> scratch_; ///< decoded values of one tensor
};

} // namespace troupe::training
