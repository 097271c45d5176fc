/// The images as a device's loader writes them.
#pragma once

#include "core/graph/graph.hpp"

#include <cstdint>

namespace troupe::nn {

struct InputFormat {
  DType dtype = DType::f32; ///< f32, or the compute type: then nothing casts the images
  std::int64_t channels =
      0; ///< at least so many; the ones added are zero (4 for RGB: 8-byte pixels)
};

/// For forward graphs, before autocast. Gives the input tensor this dtype and, where convolutions
/// alone read it, this many channels: their attributes say how many are padding, weights keep their
/// shape.
Graph format_input(const Graph& forward, const InputFormat& format);

/// What the loader has to write for this graph.
InputFormat input_format(const Graph& graph);

} // namespace troupe::nn
