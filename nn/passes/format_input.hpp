/// Adapts the graph's input to the images that a device's loader writes.
#pragma once

#include "core/graph/graph.hpp"

#include <cstdint>

namespace troupe::nn {

struct InputFormat {
  DType dtype = DType::f32;  ///< f32, or the compute type: then the images need no cast
  std::int64_t channels = 0; ///< minimum; added channels are zero (4 for RGB: 8-byte pixels)
};

/// For forward graphs, before autocast. Sets the dtype of the input tensor and, if only
/// convolutions read it, pads it to this many channels. The convolutions' attributes contain the
/// number of padding channels; weights keep their shape.
Graph format_input(const Graph& forward, const InputFormat& format);

/// Returns the format that the loader has to write for this graph.
InputFormat input_format(const Graph& graph);

} // namespace troupe::nn
