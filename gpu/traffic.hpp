/// What kernels move and compute. docs/gpu-count.md has the rules that it is counted by.
#pragma once

#include "core/graph/tensor.hpp"

namespace troupe::gpu {

struct Traffic {
  double read = 0, written = 0; ///< bytes of device memory
  double operations = 0;        ///< of products, two for a multiplication and addition
  DType type = DType::f32;      ///< of the products' factors
  int launches = 0;

  double moved() const { return read + written; }

  /// Of at most one the products count: a node has no more.
  Traffic& operator+=(const Traffic& more) {
    read += more.read;
    written += more.written;
    operations += more.operations;
    type = more.operations > 0 ? more.type : type;
    launches += more.launches;
    return *this;
  }
};

} // namespace troupe::gpu
