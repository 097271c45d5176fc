#include "collectives/tcp/detail/flow.hpp"

#include <algorithm>

namespace troupe::collectives {

namespace {

void append_block(std::vector<Piece>& pieces, const Place& place, const Blocks& blocks, int block) {
  const auto index = static_cast<std::size_t>(place.wrap(block)),
             count = static_cast<std::size_t>(place.world_size);
  const auto begin = blocks.elements * index / count, end = blocks.elements * (index + 1) / count;
  const auto more = cut(begin * blocks.element_bytes, (end - begin) * blocks.element_bytes);
  pieces.insert(pieces.end(), more.begin(), more.end());
}

/// Sends block `first`, receives `count` blocks in descending order from the one before it, sums
/// the first `summed` of them, and forwards all but the last.
Flow ring(const Place& place, const Blocks& blocks, int first, int count, int summed) {
  if (place.world_size == 1)
    return {};
  Flow flow{.from = place.at(-1), .to = place.at(1)};
  append_block(flow.first, place, blocks, first);
  for (int i = 0; i < count; ++i) {
    flow.forwarded = flow.received.size();
    append_block(flow.received, place, blocks, first - 1 - i);
    if (i < summed)
      flow.summed = flow.received.size();
  }
  return flow;
}

} // namespace

std::vector<Piece> cut(std::size_t offset, std::size_t bytes) {
  std::vector<Piece> pieces;
  for (std::size_t at = 0; at < bytes; at += piece_bytes)
    pieces.push_back({offset + at, std::min(piece_bytes, bytes - at)});
  return pieces;
}

Flow ring_reduce_scatter(const Place& place, const Blocks& blocks) {
  const int others = place.world_size - 1;
  return ring(place, blocks, place.rank - 1, others, others);
}

Flow ring_all_gather(const Place& place, const Blocks& blocks) {
  return ring(place, blocks, place.rank, place.world_size - 1, 0);
}

Flow ring_all_reduce(const Place& place, const Blocks& blocks) {
  const int others = place.world_size - 1;
  return ring(place, blocks, place.rank - 1, 2 * others, others);
}

Flow chain_from(int root, const Place& place, std::size_t bytes) {
  if (place.world_size == 1)
    return {};
  const int position = place.wrap(place.rank - root);
  Flow flow;
  if (position > 0)
    flow.from = place.at(-1);
  if (position + 1 < place.world_size)
    flow.to = place.at(1);
  (position > 0 ? flow.received : flow.first) = cut(0, bytes);
  if (flow.to >= 0)
    flow.forwarded = flow.received.size();
  return flow;
}

Flow chain_to(int root, const Place& place, std::size_t bytes) {
  auto flow = chain_from(root + 1, place, bytes);
  flow.summed = flow.received.size();
  return flow;
}

} // namespace troupe::collectives
