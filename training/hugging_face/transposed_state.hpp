/// A state under other names, some of its matrices transposed.
#pragma once

#include "core/checkpoint/state_source.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace troupe::training {

struct TransposedTensor {
  std::string name;
  std::size_t number = 0;     ///< in the other state
  bool is_transposed = false; ///< (C, R) there, (R, C) here
};

/// What of the other state is named. A part of a transposed matrix is read as a run of columns in
/// each row of the other: it costs its own memory, and one row's.
StateSourcePtr transposed_state(StateSourcePtr other, std::vector<TransposedTensor> tensors);

} // namespace troupe::training
