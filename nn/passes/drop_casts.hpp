/// Removes casts that change no value.
#pragma once

#include "core/graph/graph.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// For graphs before plan_memory, of inference or after autodiff. Drops casts
/// - to the type that a tensor has already;
/// - back to the type that it was widened from: f16 -> f32 -> f16 (f32 -> f16 -> f32 rounds, and
///   stays). Backward makes them around regions where autocast is off;
/// - of a tensor that the phase has in this type already;
/// - that nobody reads any more.
///
/// Readers take the tensor that is the same bits. What is in `keep` stays.
Graph drop_casts(const Graph& graph, const std::vector<std::string>& keep = {});

} // namespace troupe::nn
