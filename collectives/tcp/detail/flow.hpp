/// Plan of the bytes that a rank sends and receives in a collective; uses no memory and no network.
///
/// Every collective is a pipeline of chunks from one neighbour to the other. Round the ring, each
/// rank sends (N-1)/N of the values in a phase, which is the minimum (Patarasuk and Yuan,
/// "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009). A chain from
/// or to the root sends them once.
#pragma once

#include "collectives/call.hpp"

#include <cstddef>
#include <vector>

namespace troupe::collectives {

/// A chunk of a call's memory, in bytes.
struct Piece {
  std::size_t offset = 0, bytes = 0;
};

struct Flow {
  int from = -1, to = -1;      ///< ranks; -1: nothing is received or sent
  std::vector<Piece> first;    ///< sent without waiting for anything
  std::vector<Piece> received; ///< in this order
  std::size_t summed =
      0; ///< the first `summed` of `received` are added to memory; others replace it
  std::size_t forwarded = 0; ///< the first `forwarded` of `received` are then sent on
};

/// Long enough that a message costs little; short enough that a sum overlaps with the next receive
/// and stays in the second-level cache.
inline constexpr std::size_t piece_bytes = std::size_t{256} << 10;

/// Divides `bytes` from `offset` on into chunks.
std::vector<Piece> cut(std::size_t offset, std::size_t bytes);

/// Values divided into one block for each rank; block sizes may differ by one element.
struct Blocks {
  std::size_t elements = 0, element_bytes = 1;
};

/// Rank r ends with the sum of block r.
Flow ring_reduce_scatter(const Place& place, const Blocks& blocks);
/// Rank r begins with block r; all ranks end with all blocks.
Flow ring_all_gather(const Place& place, const Blocks& blocks);
/// The reduce-scatter, then the all-gather, without a pause between them.
Flow ring_all_reduce(const Place& place, const Blocks& blocks);

/// Sends the root's bytes through all ranks.
Flow chain_from(int root, const Place& place, std::size_t bytes);
/// Sums along the chain to the root.
Flow chain_to(int root, const Place& place, std::size_t bytes);

} // namespace troupe::collectives
