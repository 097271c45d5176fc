/// What a rank sends and receives in a collective, planned beforehand: no memory, no network.
///
/// Every collective is a pipeline of pieces from one neighbour to the other. Round the ring, each
/// rank sends (N-1)/N of the values in a phase, which is the least (Patarasuk and Yuan, "Bandwidth
/// optimal all-reduce algorithms for clusters of workstations", JPDC 2009); a chain from or to the
/// root sends them once.
#pragma once

#include <cstddef>
#include <vector>

namespace troupe::collectives {

/// Bytes of a call's memory.
struct Piece {
  std::size_t offset = 0, bytes = 0;
};

struct Flow {
  int from = -1, to = -1;      ///< ranks; -1: nothing is received, or sent
  std::vector<Piece> first;    ///< sent without waiting for anything
  std::vector<Piece> received; ///< in this order
  std::size_t summed = 0; ///< so many of `received` are added to what is there; others replace it
  std::size_t forwarded = 0; ///< so many of `received` are then sent on
};

/// Long enough that a message costs little, short enough that a sum hides behind the next receive
/// and stays in the second-level cache.
inline constexpr std::size_t piece_bytes = std::size_t{256} << 10;

/// `bytes` from `offset` on, cut into pieces.
std::vector<Piece> cut(std::size_t offset, std::size_t bytes);

/// A rank's place among all.
struct Place {
  int rank = 0, world_size = 1;
  int wrap(int rank_) const { return (rank_ % world_size + world_size) % world_size; }
};

/// Values that are cut into a block for each rank; the blocks may differ by an element.
struct Blocks {
  std::size_t elements = 0, element_bytes = 1;
};

/// Rank r ends with the sum of block r.
Flow ring_reduce_scatter(const Place& place, const Blocks& blocks);
/// Rank r begins with block r; all end with all blocks.
Flow ring_all_gather(const Place& place, const Blocks& blocks);
/// The first, then the second, without a pause between them.
Flow ring_all_reduce(const Place& place, const Blocks& blocks);

/// Bytes of the root go through all ranks.
Flow chain_from(int root, const Place& place, std::size_t bytes);
/// Sums grow on their way to the root.
Flow chain_to(int root, const Place& place, std::size_t bytes);

} // namespace troupe::collectives
