/// Positions of parameters and statistics in flat storage, for engines that store them unchanged.
#pragma once

#include "core/device/executable.hpp"

namespace troupe::cpu {

/// Parameters in graph order, then statistics in graph order, without codecs or padding.
StorageLayout canonical_layout(const Graph& graph);

/// Returns the slots of a layout, by the TensorIds of a graph; null for tensors that are not
/// parameters, statistics or gradients. A gradient has its parameter's slot. Errors: internal, if
/// the layout lacks a tensor or has it in another shape or unit. The layout must outlive the
/// result.
Result<std::vector<const Slot*>> find_slots(const StorageLayout& layout, const Graph& graph);

} // namespace troupe::cpu
