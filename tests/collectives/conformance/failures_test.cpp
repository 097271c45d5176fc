#include "cpu/host_stream.hpp"
#include "tests/collectives/conformance/group.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <thread>

using namespace troupe;
using namespace troupe::testing;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds short_time{300};

void all_reduce(Member& member, const DeviceValues& values) {
  member.communicator->all_reduce(*member.stream, values.values());
}

/// Returns the values of each rank of the group.
std::vector<DeviceValues> values_of(Group& group) {
  std::vector<DeviceValues> values;
  for (std::size_t rank = 0; rank < group.size(); ++rank)
    values.emplace_back(group[rank], DType::f32, whole_numbers(rank, 5000));
  return values;
}

/// Checks that the rank's stream has failed, with an error that names the rank, the call and the
/// rank that caused it.
void check_failed(Member& member, const std::string& call) {
  const auto status = member.stream->synchronize();
  REQUIRE_FALSE(status);
  INFO(status.error().to_string());
  CHECK(status.error().code == Errc::collective);
  CHECK(status.error().where.rank == member.communicator->rank());
  CHECK(status.error().message.find(call) != std::string::npos);
  CHECK(status.error().message.find("rank ") != std::string::npos);
}

void check_works(Group group) {
  const auto values = values_of(group);
  for (std::size_t rank = 0; rank < group.size(); ++rank)
    all_reduce(group[rank], values[rank]);
  group.finish();
  for (const auto& each : values)
    CHECK(each.read() == sum_of_whole_numbers(group.size(), 5000));
}

} // namespace

TEST_CASE("a stalled rank fails the others after the timeout, and they build a new group") {
  const auto backend = any_backend(3);
  const auto stalls = GENERATE(std::size_t{0}, std::size_t{2});
  Group group{backend, 3, short_time};
  const auto values = values_of(group);
  for (std::size_t rank = 0; rank < 3; ++rank)
    all_reduce(group[rank], values[rank]);
  const auto go_on = std::make_shared<cpu::HostEvent>();
  group[stalls].stream->wait(go_on);
  const auto begin = steady_clock::now();
  for (std::size_t rank = 0; rank < 3; ++rank)
    all_reduce(group[rank], values[rank]);
  for (std::size_t rank = 0; rank < 3; ++rank)
    if (rank != stalls)
      check_failed(group[rank], "all_reduce #1");
  const auto took = steady_clock::now() - begin;
  CHECK(took >= short_time);
  CHECK(took < 10 * short_time);
  check_works({backend, 2});
  go_on->reach({});
  check_failed(group[stalls], "all_reduce #1");
}

TEST_CASE("a lost rank fails the others at once, and they build a new group") {
  const auto backend = any_backend(4);
  Group group{backend, 4, backend.notices_leaving ? long_time : short_time};
  const auto values = values_of(group);
  for (std::size_t rank = 0; rank < 4; ++rank)
    all_reduce(group[rank], values[rank]);
  group.finish();
  group[1].communicator.reset();
  const auto begin = steady_clock::now();
  for (const std::size_t rank : {0u, 2u, 3u})
    all_reduce(group[rank], values[rank]);
  for (const std::size_t rank : {0u, 2u, 3u})
    check_failed(group[rank], "all_reduce #1");
  CHECK(steady_clock::now() - begin < long_time / 4);
  check_works({backend, 3});
}

TEST_CASE("an abort fails pending and later operations on every rank at once") {
  const auto backend = any_backend(3);
  Group group{backend, 3, backend.notices_leaving ? long_time : short_time};
  const auto values = values_of(group);
  const auto begin = steady_clock::now();
  all_reduce(group[0], values[0]);
  all_reduce(group[1], values[1]);
  std::this_thread::sleep_for(milliseconds{20});
  group[0].communicator->abort({Errc::collective, "rank 2 was seen to die"});
  const auto status = group[0].stream->synchronize();
  REQUIRE_FALSE(status);
  CHECK(status.error().message.find("rank 2 was seen to die") != std::string::npos);
  for (const std::size_t rank : {1u, 2u}) {
    all_reduce(group[rank], values[rank]);
    const auto failed = group[rank].stream->synchronize();
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code == Errc::collective);
  }
  CHECK(steady_clock::now() - begin < long_time / 4);
}

TEST_CASE("a send that no rank receives fails and names the peer") {
  Group group{any_backend(2), 2, short_time};
  const auto values = values_of(group);
  group[0].communicator->send(*group[0].stream, values[0].values(), 1);
  check_failed(group[0], "send #0 to rank 1");
}

TEST_CASE("mismatched operations are refused and do not corrupt memory") {
  const auto backend = any_backend(2);
  if (!backend.compares_calls)
    return; // the result is undefined then
  Group group{backend, 2, long_time};
  const DeviceValues few{group[0], DType::f32, Numbers(4)}, many{group[1], DType::f32, Numbers(8)};
  const auto begin = steady_clock::now();
  SECTION("in size") {
    all_reduce(group[0], few);
    all_reduce(group[1], many);
  }
  SECTION("in type") {
    all_reduce(group[0], few);
    group[1].communicator->all_reduce(*group[1].stream, {many.data(), 4, DType::i32});
  }
  SECTION("in operation") {
    all_reduce(group[0], few);
    group[1].communicator->broadcast(*group[1].stream, many.part(0, 4), 0);
  }
  for (auto& member : group)
    check_failed(member, "#0");
  CHECK(steady_clock::now() - begin < long_time / 4);
}
