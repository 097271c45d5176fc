/// Weight gradients that convolutions write in the type of activations. One launch at the end of a
/// unit's backward casts all of them to f32, or adds them to earlier passes' gradients.
#pragma once

#include "core/graph/graph.hpp"
#include "gpu/lowering/detail/step.hpp"

#include <vector>

namespace troupe::gpu {

struct NarrowGradient {
  TensorId gradient; ///< f32, in the unit's gradients
  std::size_t elements;
  DType type;
  std::size_t offset; ///< in Launch::staging, in bytes
};

/// The narrow gradients of one unit.
struct NarrowGradients {
  std::vector<NarrowGradient> all;
  std::size_t bytes = 0; ///< in Launch::staging

  /// Returns the offset in Launch::staging where the gradient is written. All gradients of a unit
  /// have the same type.
  std::size_t add(TensorId gradient, std::size_t elements, DType type);
};

/// Null if there are none.
StepPtr widen_gradients(const NarrowGradients& gradients);

} // namespace troupe::gpu
