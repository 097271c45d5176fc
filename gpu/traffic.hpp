/// Memory traffic and operations of kernels. docs/gpu-count.md has the counting rules.
#pragma once

#include "core/graph/tensor.hpp"

namespace troupe::gpu {

struct Traffic {
  double read = 0, written = 0; ///< bytes of device memory
  double operations = 0;        ///< of products; a multiplication and addition count as two
  DType type = DType::f32;      ///< of the products' factors
  int launches = 0;

  double moved() const { return read + written; }

  /// Adds every field. `type` is that of the last addend with products.
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
