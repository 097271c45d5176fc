/// Where parameters and statistics lie in flat storage, for engines that keep them as they are.
#pragma once

#include "core/device/executable.hpp"

namespace troupe::cpu {

/// Parameters in graph order, statistics likewise, without codecs or padding.
StorageLayout canonical_layout(const Graph& graph);

/// The slots of a layout, by the TensorIds of a graph; null for tensors that are neither parameter,
/// statistic nor gradient. A gradient has its parameter's slot. Errors: internal when the layout
/// lacks a tensor, or has it in another shape or unit. The layout must outlive the result.
Result<std::vector<const Slot*>> find_slots(const StorageLayout& layout, const Graph& graph);

} // namespace troupe::cpu
