/// A view of a state with other tensor names and some matrices transposed.
#pragma once

#include "core/checkpoint/state_source.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace troupe::training {

struct TransposedTensor {
  std::string name;
  std::size_t number = 0;     ///< index in the other state
  bool is_transposed = false; ///< (C, R) in the other state, (R, C) here
};

/// Returns a state of the named tensors. Reading a part of a transposed matrix reads a run of
/// columns from each row of the other matrix. It needs memory for the part, and for one row.
StateSourcePtr transposed_state(StateSourcePtr other, std::vector<TransposedTensor> tensors);

} // namespace troupe::training
