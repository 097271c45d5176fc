/// Weight gradients that convolutions write in the type of activations: all of a unit are widened
/// in one launch, at the end of its backward.
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

/// Those of one unit.
class NarrowGradients {
public:
  /// Where in Launch::staging it is to be written. A unit's are of one type.
  std::size_t add(TensorId gradient, std::size_t elements, DType type);
  std::size_t bytes() const { return bytes_; }
  const std::vector<NarrowGradient>& all() const { return all_; }

private:
  std::vector<NarrowGradient> all_;
  std::size_t bytes_ = 0;
};

/// Null where there is none.
StepPtr widen_gradients(const NarrowGradients& gradients);

} // namespace troupe::gpu
