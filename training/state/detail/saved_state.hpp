/// In which order, and in which pieces, a rank's state is saved and hashed. A pure function of the
/// layout and its plan, so it is every rank's.
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

/// The arrays that a state consists of: parameters, statistics, then the optimizer's slots.
inline constexpr std::size_t parameters_array = 0, statistics_array = 1, first_optimizer_array = 2;

/// Neighbouring values of one tensor. Of a whole state: all of it where the device stores it in a
/// layout of its own.
struct SavedRange {
  std::size_t array = parameters_array;
  const Slot* slot = nullptr;
  std::size_t first = 0, elements = 0; ///< as they are stored

  /// How many values of the tensor the range has in canonical layout.
  std::size_t values() const {
    return slot->codec ? static_cast<std::size_t>(slot->shape.elements()) : elements;
  }
};

/// The values of a range as files have them: `stored` itself, or what `scratch` then holds.
std::span<const float> in_canonical_layout(const SavedRange& range, const float* stored,
                                           std::vector<float>& scratch);

/// What is copied, gathered and written at a time: of one array and, but for statistics, one
/// bucket.
struct SavedChunk {
  std::vector<SavedRange> ranges; ///< never empty
  std::size_t elements = 0;       ///< as they are stored

  std::size_t array() const { return ranges.front().array; }
};

/// Stored elements of a piece: 8 MiB, or one tensor that the device stores in a layout of its own.
inline constexpr std::size_t largest_chunk = std::size_t{2} << 20;

/// Parameters in the order of their names, as their digest wants them, then statistics, then each
/// of the optimizer's `slots` as the parameters. `layout` must outlive the pieces.
std::vector<SavedChunk> plan_saved(const StorageLayout& layout, const collectives::FlatPlan& plan,
                                   std::size_t slots, std::size_t largest = largest_chunk);

/// The same of a rank's part, which has the statistics or not.
std::vector<SavedChunk> plan_saved_shard(const StorageLayout& layout,
                                         const collectives::FlatPlan& plan, std::size_t slots,
                                         const SavedShard& part, bool statistics,
                                         std::size_t largest = largest_chunk);

/// So many pieces, the first ones, are the parameters.
std::size_t count_parameter_chunks(std::span<const SavedChunk> chunks);

/// Names and shapes in the order of the pieces; `slots` are the names of the optimizer's.
std::vector<CheckpointEntry> saved_entries(std::span<const SavedChunk> chunks,
                                           std::span<const std::string> slots);
/// The same of pieces of a part, as they are stored.
std::vector<TensorPart> saved_shards(std::span<const SavedChunk> chunks,
                                     std::span<const std::string> slots);

} // namespace troupe::training
