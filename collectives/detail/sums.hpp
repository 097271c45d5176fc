/// Sums of values of several ranks, with the host's vector instructions, on the calling thread.
#pragma once

#include "core/graph/tensor.hpp"

#include <cstddef>
#include <span>

namespace troupe::collectives {

/// sum[i] = sources[0][i] + sources[1][i] + ..., in that order. f16 and bf16 are summed in f32 and
/// rounded once; integers wrap. `sum` may be one of the sources.
void sum_in_order(DType type, std::span<const void* const> sources, void* sum,
                  std::size_t elements);

/// sum[i] += values[i], rounded like sum_in_order().
void add(DType type, void* sum, const void* values, std::size_t elements);

} // namespace troupe::collectives
