/// Where parameters, gradients and optimizer state lie: all units one after the other in one flat
/// space, cut into buckets of neighbouring units that are reduced, gathered and released together.
/// Small units then do not pay a collective's latency each (Li et al., "PyTorch Distributed", VLDB
/// 2020, section 3.2.3; as "FlatParameter" in Zhao et al., "PyTorch FSDP", VLDB 2023, section 3.2).
#pragma once

#include "core/graph/graph.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace troupe::collectives {

/// Shards begin at multiples of it, in fp32 elements: 64 bytes.
inline constexpr std::size_t shard_alignment = 16;

/// Neighbours [first, last]. Backward fills `last` first and `first` last.
struct UnitRange {
  UnitId first = 0, last = 0;
  bool operator==(const UnitRange&) const = default;
};

// What travels together, in the order in which backward completes it: from the last unit to the
// first. A unit is never split. Units without parameters join their neighbours.

/// A range is closed as soon as it holds `bytes` of fp32; 1 makes one of each unit.
std::vector<UnitRange> wrap_by_size(std::span<const std::size_t> unit_elements, std::size_t bytes);

/// Neighbouring units below the same name ("layer1" holds layer1.0 and layer1.1) make a range, and
/// so do neighbours below no name.
std::vector<UnitRange> wrap_by_name(std::span<const std::size_t> unit_elements,
                                    std::span<const std::string> unit_names,
                                    std::span<const std::string> names);

struct Bucket {
  UnitRange units;
  std::size_t offset = 0;   ///< in the flat space, fp32 elements
  std::size_t elements = 0; ///< with the padding at its end
  std::size_t padding = 0;
};

struct FlatPlan {
  std::vector<Bucket> buckets; ///< as the ranges it was made of: offsets descend
  std::vector<std::size_t> unit_offsets, bucket_of; ///< by UnitId
  std::size_t elements = 0;
  std::size_t shards = 1; ///< every bucket's elements can be divided by it

  // One shard of every bucket, one after the other, is a rank's part of the flat space.
  std::size_t shard_elements() const { return elements / shards; }
  std::size_t shard_offset(const Bucket& bucket) const { return bucket.offset / shards; }
  std::size_t shard_elements(const Bucket& bucket) const { return bucket.elements / shards; }
};

/// Pads each bucket so that its shards are equal and begin at multiples of 64 bytes; one shard
/// needs no padding.
FlatPlan plan_flat(std::span<const UnitRange> ranges, std::span<const std::size_t> unit_elements,
                   std::size_t shards);

/// Places for buckets of which `alive` neighbours are used at a time: any two that are less than
/// `alive` apart lie beside each other, others may share memory.
struct WindowPlan {
  std::vector<std::size_t> offsets; ///< by bucket, fp32 elements
  std::size_t elements = 0;
};

WindowPlan plan_window(std::span<const Bucket> buckets, std::size_t alive);

} // namespace troupe::collectives
