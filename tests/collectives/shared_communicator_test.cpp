#include "troupe/collectives/shared_device/shared_communicator.hpp"
#include "troupe/cpu/host_stream.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <memory>
#include <vector>

using namespace troupe;
using std::chrono::milliseconds;

namespace {

/// Ranks of one process, each with a stream of its own.
struct Group {
  explicit Group(int world, milliseconds timeout = milliseconds{20000})
      : communicators{collectives::make_shared_group(world, timeout)} {
    for (int rank = 0; rank < world; ++rank)
      streams.push_back(std::make_unique<cpu::HostStream>(StreamOptions{.name = "communication"}));
  }
  std::vector<std::unique_ptr<collectives::Communicator>> communicators;
  std::vector<std::unique_ptr<cpu::HostStream>> streams;
};

float value(int rank, std::size_t i) {
  return 0.1f * static_cast<float>(rank + 1) + 0.01f * static_cast<float>(i % 97);
}

} // namespace

TEST_CASE("all_reduce sums in rank order, the same bits on every rank") {
  const int world = GENERATE(1, 2, 3, 4, 8);
  const std::size_t elements =
      GENERATE(std::size_t{1}, std::size_t{7}, std::size_t{1024}, std::size_t{100003});
  Group group{world};
  std::vector<std::vector<float>> values(static_cast<std::size_t>(world),
                                         std::vector<float>(elements));
  for (int rank = 0; rank < world; ++rank)
    for (std::size_t i = 0; i < elements; ++i)
      values[static_cast<std::size_t>(rank)][i] = value(rank, i);
  for (std::size_t rank = 0; rank < values.size(); ++rank)
    group.communicators[rank]->all_reduce(*group.streams[rank], {values[rank].data(), elements});
  for (auto& stream : group.streams)
    REQUIRE(stream->synchronize());
  std::vector<float> expected(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    expected[i] = value(0, i);
    for (int rank = 1; rank < world; ++rank)
      expected[i] += value(rank, i);
  }
  for (const auto& each : values)
    CHECK(each == expected);
}

TEST_CASE("many operations in a row do not mix") {
  Group group{3};
  std::vector<std::vector<float>> values(3, std::vector<float>(50, 1.0f));
  for (int i = 0; i < 20; ++i)
    for (std::size_t rank = 0; rank < 3; ++rank)
      group.communicators[rank]->all_reduce(*group.streams[rank], {values[rank].data(), 50});
  for (auto& stream : group.streams)
    REQUIRE(stream->synchronize());
  CHECK(values[2][49] == 3486784401.0f); // 3 to the power of 20
  CHECK(group.communicators[0]->traffic().operations == 20);
}

TEST_CASE("broadcast gives the root's values to all") {
  Group group{4};
  std::vector<std::vector<float>> values(4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    values[rank].assign(33, static_cast<float>(rank));
    group.communicators[rank]->broadcast(*group.streams[rank], {values[rank].data(), 33}, 2);
  }
  for (auto& stream : group.streams)
    REQUIRE(stream->synchronize());
  for (const auto& each : values)
    CHECK(each == std::vector<float>(33, 2.0f));
}

TEST_CASE("a rank that does not come fails the others within the timeout, and is named") {
  Group group{3, milliseconds{100}};
  std::vector<float> a(4), b(4);
  group.communicators[0]->all_reduce(*group.streams[0], {a.data(), 4});
  group.communicators[1]->all_reduce(*group.streams[1], {b.data(), 4});
  for (const std::size_t rank : {0u, 1u}) {
    const auto status = group.streams[rank]->synchronize();
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Errc::collective);
    CHECK(status.error().message.find(
              "all_reduce #0 timed out after 100 ms: rank 2 did not come") != std::string::npos);
  }
}

TEST_CASE("different operations are refused instead of mixing memory") {
  Group group{2};
  std::vector<float> a(4), b(8);
  group.communicators[0]->all_reduce(*group.streams[0], {a.data(), 4});
  group.communicators[1]->all_reduce(*group.streams[1], {b.data(), 8});
  for (auto& stream : group.streams) {
    const auto status = stream->synchronize();
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Errc::collective);
  }
}

TEST_CASE("abort fails pending and later operations at once") {
  Group group{2};
  std::vector<float> a(4);
  group.communicators[0]->all_reduce(*group.streams[0], {a.data(), 4});
  group.communicators[1]->abort({Errc::collective, "rank 1 left"});
  const auto status = group.streams[0]->synchronize();
  REQUIRE_FALSE(status);
  CHECK(status.error().message == "rank 1 left");
}
