/// Layout of parameters, gradients and optimizer state: all units in sequence in one flat space,
/// divided into buckets of neighbouring units that are reduced, gathered and released together.
/// Small units then do not pay a collective's latency each (Li et al., "PyTorch Distributed", VLDB
/// 2020, section 3.2.3; as "FlatParameter" in Zhao et al., "PyTorch FSDP", VLDB 2023, section 3.2).
#pragma once

#include "core/graph/graph.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace troupe::training {

/// Shards begin at multiples of this many fp32 elements: 64 bytes.
inline constexpr std::size_t shard_alignment = 16;

/// Neighbouring units [first, last]. Backward completes `last` first and `first` last.
struct UnitRange {
  UnitId first = 0, last = 0;
  bool operator==(const UnitRange&) const = default;
};

// Ranges of units that travel together, in the order in which backward completes them: from the
// last unit to the first. A unit is never split. Units without parameters join a neighbour.

/// Closes a range as soon as it holds `bytes` of fp32; with 1, each unit is a range.
std::vector<UnitRange> wrap_by_size(std::span<const std::size_t> unit_elements, std::size_t bytes);

/// Groups neighbouring units under the same name ("layer1" holds layer1.0 and layer1.1), and
/// neighbours that are under none of the names.
std::vector<UnitRange> wrap_by_name(std::span<const std::size_t> unit_elements,
                                    std::span<const std::string> unit_names,
                                    std::span<const std::string> names);

struct Bucket {
  UnitRange units;
  std::size_t offset = 0;   ///< in the flat space, fp32 elements
  std::size_t elements = 0; ///< including the padding at its end
  std::size_t padding = 0;
};

struct FlatPlan {
  std::vector<Bucket> buckets;                      ///< in the order of the ranges: offsets descend
  std::vector<std::size_t> unit_offsets, bucket_of; ///< by UnitId
  std::size_t elements = 0;
  std::size_t shards = 1; ///< divides every bucket's elements

  // A rank's shard of the flat space: one shard of every bucket, in sequence.
  std::size_t shard_elements() const { return elements / shards; }
  std::size_t shard_offset(const Bucket& bucket) const { return bucket.offset / shards; }
  std::size_t shard_elements(const Bucket& bucket) const { return bucket.elements / shards; }
};

/// Pads each bucket so that its shards have equal sizes and begin at multiples of 64 bytes; with
/// one shard, no padding is needed.
FlatPlan plan_flat(std::span<const UnitRange> ranges, std::span<const std::size_t> unit_elements,
                   std::size_t shards);

/// Offsets for buckets of which `alive` neighbours are in use at a time: two buckets less than
/// `alive` apart never overlap, others may share memory.
struct WindowPlan {
  std::vector<std::size_t> offsets; ///< by bucket, fp32 elements
  std::size_t elements = 0;
};

WindowPlan plan_window(std::span<const Bucket> buckets, std::size_t alive);

} // namespace troupe::training
