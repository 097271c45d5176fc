/// Removes casts that change no value.
#pragma once

#include "core/graph/graph.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// Removes redundant casts. For graphs before plan_memory, of inference or after autodiff. Drops
/// casts
/// - to the type that the tensor already has;
/// - back to the type that the tensor was cast up from: f16 -> f32 -> f16 (f32 -> f16 -> f32
///   rounds, so it stays). Backward creates them around regions where autocast is off;
/// - of a tensor that the phase already has in this type;
/// - that no node reads.
///
/// Readers take the tensor with the same bits. Tensors in `keep` stay.
Graph drop_casts(const Graph& graph, const std::vector<std::string>& keep = {});

} // namespace troupe::nn
