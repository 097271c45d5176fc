/// Networks small enough for the interpreter.
#pragma once

#include "core/graph/graph.hpp"

namespace troupe::testing {

/// ResNet-50's stem and four bottleneck blocks, two of them with a shortcut of their own, one with
/// a stride: all that its blocks have. `width`: channels inside the first two blocks; twice as many
/// in the others. Images (N, H, W, 3); H and W multiples of 8, and N so that batch norm has enough
/// values at an eighth of them. Requires that it can be built (Catch2).
Graph bottleneck_network(const Shape& images, std::int64_t width);

} // namespace troupe::testing
