/// Order and chunks in which a rank's state is saved and hashed. A pure function of the layout and
/// its plan, so all ranks agree on it.
#pragma once

#include "collectives/flat_plan.hpp"
#include "core/checkpoint/checkpoint.hpp"
#include "core/checkpoint/tensor_part.hpp"
#include "core/device/executable.hpp"
#include "training/state/detail/saved_shard.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace troupe::training {

/// The arrays of a state: parameters, statistics, then the optimizer's slots.
inline constexpr std::size_t parameters_array = 0, statistics_array = 1, first_optimizer_array = 2;

/// Contiguous values of one tensor. In a whole state, a tensor in a device layout is one range.
struct SavedRange {
  std::size_t array = parameters_array;
  const Slot* slot = nullptr;
  std::size_t first = 0, elements = 0; ///< in the device's layout

  /// Number of the range's values in canonical layout.
  std::size_t values() const {
    return slot->codec ? static_cast<std::size_t>(slot->shape.elements()) : elements;
  }
};

/// Returns a range's values in the layout of files: `stored` itself, or `scratch` after decoding
/// into it.
std::span<const float> in_canonical_layout(const SavedRange& range, const float* stored,
                                           std::vector<float>& scratch);

/// The unit of copying, gathering and writing. Belongs to one array and, except for statistics, to
/// one bucket.
struct SavedChunk {
  std::vector<SavedRange> ranges; ///< never empty
  std::size_t elements = 0;       ///< in the device's layout

  std::size_t array() const { return ranges.front().array; }
};

/// Maximum elements of a chunk: 8 MiB. A tensor in a device layout may exceed it.
inline constexpr std::size_t largest_chunk = std::size_t{2} << 20;

/// Plans a whole state: parameters sorted by name, as their digest requires, then statistics, then
/// each of the optimizer's `slots` in the order of the parameters. `layout` must outlive the
/// chunks.
std::vector<SavedChunk> plan_saved(const StorageLayout& layout, const collectives::FlatPlan& plan,
                                   std::size_t slots, std::size_t largest = largest_chunk);

/// Plans a rank's part of the state, with or without the statistics.
std::vector<SavedChunk> plan_saved_shard(const StorageLayout& layout,
                                         const collectives::FlatPlan& plan, std::size_t slots,
                                         const SavedShard& part, bool statistics,
                                         std::size_t largest = largest_chunk);

/// Returns the number of chunks with parameters; they come first.
std::size_t count_parameter_chunks(std::span<const SavedChunk> chunks);

/// Returns names and shapes in the order of the chunks; `slots`: names of the optimizer's slots.
std::vector<CheckpointEntry> saved_entries(std::span<const SavedChunk> chunks,
                                           std::span<const std::string> slots);
/// Returns the tensor parts in the chunks of a rank's part, in the device's layout.
std::vector<TensorPart> saved_shards(std::span<const SavedChunk> chunks,
                                     std::span<const std::string> slots);

} // namespace troupe::training
