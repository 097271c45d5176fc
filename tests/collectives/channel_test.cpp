// Tests the connections that the ring and point-to-point messages share.
#include "collectives/data_plane/channel.hpp"
#include "collectives/point_to_point/point_to_point.hpp"
#include "cpu/host_stream.hpp"
#include "tests/support/loopback.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <future>
#include <thread>

using namespace troupe;
using namespace troupe::collectives;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using std::chrono::steady_clock;
using testing::Loopback;

namespace {

ChannelOptions options_of(const Loopback& ranks, int member, std::chrono::milliseconds limit) {
  return {.member = member,
          .endpoints = ranks.endpoints,
          .group = "test",
          .timeout = limit,
          .connect_timeout = limit};
}

Result<std::shared_ptr<PointToPoint>> open_messages(Loopback& ranks, int process,
                                                    std::chrono::milliseconds limit,
                                                    const std::string& secret = "a secret") {
  return PointToPoint::open({.process_of = {0, 1},
                             .channel = {.member = process,
                                         .endpoints = ranks.endpoints,
                                         .group = "messages",
                                         .connect_timeout = limit},
                             .most_bytes = 1000},
                            ranks.join_group(process, 1, secret));
}

} // namespace

TEST_CASE("a channel opens a connection on first use, and then returns the same one") {
  Loopback ranks{2};
  Channel here{options_of(ranks, 0, 30s), ranks.join_group(0)};
  Channel there{options_of(ranks, 1, 30s), ranks.join_group(1)};
  const auto to = here.to(1), from = there.from(0);
  REQUIRE(to);
  REQUIRE(from);
  CHECK(*here.to(1) == *to);
  CHECK(*there.from(0) == *from);
  here.abort({Errc::collective, "the end"});
  std::array<std::byte, 1> byte{};
  const auto read = net::read_all(**from, byte, ranks.join_group(1)->io_deadline(30s));
  REQUIRE_FALSE(read);
  CHECK_THAT(read.error().message, ContainsSubstring("127.0.0.1: it has closed the connection"));
  CHECK(here.from(1).error().message == "the end");
}

TEST_CASE("an abort ends a channel's wait for a member, with its first reason") {
  Loopback ranks{2};
  Channel channel{options_of(ranks, 0, 30s), ranks.join_group(0)};
  const auto begin = steady_clock::now();
  auto waiting = std::async(std::launch::async, [&] { return channel.from(1); });
  CHECK(waiting.wait_for(20ms) == std::future_status::timeout);
  channel.abort({Errc::collective, "the first"});
  channel.abort({Errc::collective, "the second"});
  CHECK(waiting.get().error().message == "the first");
  CHECK(ranks.join_group(0)->status()); // the other channels of the generation remain
  CHECK(steady_clock::now() - begin < 10s);
}

TEST_CASE("a member that does not connect is named, with its address") {
  Loopback ranks{2};
  const auto address = to_string(ranks.endpoints[1]);
  SECTION("a rank of a ring") {
    const auto ring = connect_tcp(options_of(ranks, 0, 100ms), ranks.join_group(0));
    REQUIRE_FALSE(ring);
    CHECK_THAT(ring.error().message,
               ContainsSubstring("rank 1 (" + address + ") has not connected within 100ms"));
  }
  SECTION("a node that exchanges messages") {
    auto guessing =
        std::async(std::launch::async, [&] { return open_messages(ranks, 1, 100ms, "a guess"); });
    const auto messages = open_messages(ranks, 0, 100ms);
    REQUIRE_FALSE(messages);
    CHECK_THAT(messages.error().message,
               ContainsSubstring("node 1 (" + address + ") has not connected within 100ms"));
    CHECK_FALSE(guessing.get());
  }
}

TEST_CASE("a ring and messages share a data plane") {
  Loopback ranks{2};
  auto opening = std::async(std::launch::async, [&] { return open_messages(ranks, 1, 30s); });
  const auto here = open_messages(ranks, 0, 30s);
  const auto there = opening.get();
  REQUIRE(here);
  REQUIRE(there);
  std::promise<std::int64_t> arrived;
  (*there)->subscribe(
      1, {.deliver = [&](const MessagePtr& message) { arrived.set_value(message->header[0]); },
          .memory = [](std::size_t) { return Result<BufferPtr>{BufferPtr{}}; },
          .lost = [](int, const Error&) {}});
  const auto ring = ranks.connect(30s);
  std::array<float, 2> values = {1, 2};
  std::array<cpu::HostStream, 2> streams{cpu::HostStream{{.name = "rank 0"}},
                                         cpu::HostStream{{.name = "rank 1"}}};
  for (std::size_t rank = 0; rank < 2; ++rank)
    (*ring[rank])->all_reduce(streams[rank], {&values[rank], 1});
  (*here)->send({.from = 0, .to = 1, .header = {42}});
  for (auto& stream : streams)
    REQUIRE(stream.synchronize());
  CHECK(values == std::array<float, 2>{3, 3});
  CHECK(arrived.get_future().get() == 42);
}
