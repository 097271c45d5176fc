/// The sequence of ranges in which a state, or a part of it, is copied, hashed and written. A pure
/// function of layout, flat plan and strategy, so all ranks agree on it.
#pragma once

#include "core/checkpoint/checkpoint.hpp"
#include "core/checkpoint/tensor_part.hpp"
#include "training/state/flat_range.hpp"
#include "training/strategy.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace troupe::training {

/// The arrays of a state: parameters, statistics, then the optimizer's slots.
inline constexpr std::size_t parameters_array = 0, statistics_array = 1, first_optimizer_array = 2;

/// Contiguous values of one tensor. In a whole state, a tensor in a device layout is one range.
struct StateRange {
  std::size_t array = parameters_array;
  const Slot* slot = nullptr;
  std::size_t first = 0, elements = 0; ///< in the device's layout
};

/// Returns a range's values in the layout of files: `stored` itself, or `scratch` after decoding
/// into it.
std::span<const float> in_canonical_layout(const StateRange& range, const float* stored,
                                           std::vector<float>& scratch);

/// The unit of copying, gathering and writing: ranges of one array and, except for statistics, of
/// one bucket.
struct PlannedChunk {
  std::size_t array = parameters_array;
  std::size_t bucket = 0;         ///< its number; 0 for statistics
  std::vector<StateRange> ranges; ///< never empty
  std::size_t elements = 0;       ///< in the device's layout
};

/// Calls take(range, values) for each range of a chunk. `values`: those of the chunk, in sequence.
template <class Value, class Take>
void for_each_range(const PlannedChunk& chunk, Value* values, const Take& take) {
  for (const auto& range : chunk.ranges) {
    take(range, values);
    values += range.elements;
  }
}

/// The part of a state that a rank saves: one contiguous range of the flat space for each bucket.
struct StatePart {
  std::vector<FlatRange> ranges; ///< by the bucket's number
  bool statistics = true;
  bool is_whole = false;

  std::size_t elements() const;

  static StatePart whole(const FlatPlan& plan);
  /// A shard as a rank holds it, without statistics.
  static StatePart of_shard(const FlatPlan& plan, std::size_t shard);
  /// The part that a rank writes to a sharded checkpoint: its shard, divided among the ranks that
  /// hold the same shard; rank 0 also writes the statistics. The parts of all ranks together are
  /// the state.
  static StatePart of_rank(const FlatPlan& plan, const Strategy& strategy, int rank);
};

class StatePlan {
public:
  /// Maximum elements of a chunk: 8 MiB. A tensor in a device layout may exceed it.
  static constexpr std::size_t largest_chunk = std::size_t{2} << 20;

  /// Parameters are first, sorted by name as their digest requires, then statistics, then each
  /// optimizer slot in the order of the parameters. `slots`: their names. `layout` must outlive the
  /// plan.
  StatePlan(const StorageLayout& layout, const FlatPlan& plan, std::vector<std::string> slots,
            const StatePart& part, std::size_t largest = largest_chunk);

  std::size_t size() const { return chunks_.size(); }
  const PlannedChunk& operator[](std::size_t index) const { return chunks_[index]; }
  auto begin() const { return chunks_.begin(); }
  auto end() const { return chunks_.end(); }
  /// Elements of all chunks, in the device's layout.
  std::size_t elements() const;
  /// Number of chunks with parameters; they are first.
  std::size_t parameter_chunks() const;
  /// Indices of all chunks, so that the chunks of a bucket are neighbours.
  std::vector<std::size_t> by_bucket() const;

  /// Names and shapes of the tensors in the first `chunks` chunks.
  std::vector<CheckpointEntry> entries(std::size_t chunks) const;
  /// The tensor parts in all chunks, in the device's layout.
  std::vector<TensorPart> parts() const;

private:
  std::string name_of(const StateRange& range) const;

  std::vector<std::string> slots_;
  std::vector<PlannedChunk> chunks_;
};

} // namespace troupe::training
