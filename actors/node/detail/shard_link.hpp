/// The protocol between a node that lacks parts of a divided state and a node that has them.
#pragma once

#include "collectives/data_plane/connection_group.hpp"
#include "training/node_assignment.hpp"

#include <chrono>
#include <cstdint>

namespace troupe::actors {

/// A request for values of one part. `part`: its index in the description.
struct ShardRequest {
  std::uint64_t part = 0, first = 0, elements = 0;
};

/// Long, because the loss of a node is noticed elsewhere.
inline constexpr std::chrono::hours shards_io_deadline{24};

inline collectives::LinkName shard_link(std::size_t from, std::size_t to) {
  return {.group = "parts",
          .from = static_cast<std::int32_t>(from),
          .to = static_cast<std::int32_t>(to)};
}

/// Whether a node reads any shard from another.
inline bool reads_from(const training::GenerationRecord& generation, std::size_t node,
                       std::size_t other) {
  for (std::int32_t shard = 0; node != other && shard < generation.shards; ++shard)
    if (generation.holder_of(shard, node) == other)
      return true;
  return false;
}

} // namespace troupe::actors
