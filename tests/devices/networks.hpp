/// Networks small enough for the interpreter.
#pragma once

#include "core/graph/graph.hpp"

namespace troupe::testing {

/// Builds ResNet-50's stem and four bottleneck blocks: two have a projection shortcut and one a
/// stride, so that every kind of block occurs. `width`: channels inside the first two blocks; the
/// others have twice as many. Images are (N, H, W, 3) with H and W multiples of 8, and N large
/// enough that batch norm has enough values at an eighth of that size. Requires that it can be
/// built (Catch2).
Graph bottleneck_network(const Shape& images, std::int64_t width);

} // namespace troupe::testing
