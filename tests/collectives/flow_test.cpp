#include "collectives/tcp/detail/flow.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe::collectives;

namespace {

std::size_t bytes_of(const std::vector<Piece>& pieces, std::size_t count) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i)
    bytes += pieces[i].bytes;
  return bytes;
}

std::size_t bytes_sent(const Flow& flow) {
  return bytes_of(flow.first, flow.first.size()) + bytes_of(flow.received, flow.forwarded);
}

/// Returns the chunks that a rank sends, in order.
std::vector<Piece> sent(const Flow& flow) {
  auto pieces = flow.first;
  pieces.insert(pieces.end(), flow.received.begin(),
                flow.received.begin() + static_cast<std::ptrdiff_t>(flow.forwarded));
  return pieces;
}

} // namespace

TEST_CASE("a ring sends the minimum number of bytes for its collective") {
  const int world = GENERATE(2, 3, 4, 7, 8);
  const auto ranks = static_cast<std::size_t>(world);
  const std::size_t elements = GENERATE(std::size_t{840}, std::size_t{840 * 1000});
  const Blocks blocks{elements, 4};
  const auto bytes = elements * 4;
  for (int rank = 0; rank < world; ++rank) {
    const Place place{rank, world};
    CHECK(bytes_sent(ring_reduce_scatter(place, blocks)) == bytes * (ranks - 1) / ranks);
    CHECK(bytes_sent(ring_all_gather(place, blocks)) == bytes * (ranks - 1) / ranks);
    CHECK(bytes_sent(ring_all_reduce(place, blocks)) == 2 * bytes * (ranks - 1) / ranks);
  }
}

TEST_CASE("a chain sends the values once over each link and nothing past its ends") {
  const int root = GENERATE(0, 2);
  for (int rank = 0; rank < 4; ++rank) {
    const auto down = chain_from(root, {rank, 4}, 1000), up = chain_to(root, {rank, 4}, 1000);
    CHECK(bytes_sent(down) == (rank == (root + 3) % 4 ? 0 : 1000));
    CHECK(bytes_sent(up) == (rank == root ? 0 : 1000));
    CHECK(down.summed == 0);
    CHECK(up.summed == up.received.size());
  }
}

TEST_CASE("each rank receives exactly the chunks that its predecessor sends") {
  const int world = GENERATE(2, 3, 5);
  const Blocks blocks{GENERATE(std::size_t{1}, std::size_t{7}, std::size_t{500001}), 8};
  for (const auto make : {ring_reduce_scatter, ring_all_gather, ring_all_reduce})
    for (int rank = 0; rank < world; ++rank) {
      const auto mine = make({rank, world}, blocks);
      const auto theirs = make({(rank + 1) % world, world}, blocks);
      const auto pieces = sent(mine);
      REQUIRE(mine.to == (rank + 1) % world);
      REQUIRE(theirs.from == rank);
      REQUIRE(pieces.size() == theirs.received.size());
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        CHECK(pieces[i].offset == theirs.received[i].offset);
        CHECK(pieces[i].bytes == theirs.received[i].bytes);
      }
    }
}

TEST_CASE("a single rank sends nothing") {
  CHECK(bytes_sent(ring_all_reduce({0, 1}, {1000, 4})) == 0);
  CHECK(ring_all_gather({0, 1}, {1000, 4}).received.empty());
  CHECK(bytes_sent(chain_from(0, {0, 1}, 1000)) == 0);
}
