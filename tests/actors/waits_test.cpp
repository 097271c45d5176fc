// Tests what a daemon reports in its log and status while it waits, and how it pauses between
// attempts.
#include "actors/node/backoff.hpp"
#include "actors/node/listen_address.hpp"
#include "actors/node/seen_from.hpp"
#include "actors/node/waits.hpp"
#include "core/net/socket.hpp"

#include <catch2/catch_test_macros.hpp>

#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;

namespace {

const Waits::Time start = Waits::Clock::now();

} // namespace

TEST_CASE("the most recent wait is shown with its duration and limit") {
  Waits waits;
  CHECK(waits.shown(start) == WaitStatus{});
  std::optional search{waits.begin("looking for a job", 5min, start)};
  const auto place = waits.begin("waiting to be admitted", 0ms, start + 10s);
  CHECK(waits.shown(start + 30s) == WaitStatus{"waiting to be admitted", 20'000, 0});
  search.reset();
  CHECK(waits.shown(start + 30s) == WaitStatus{"waiting to be admitted", 20'000, 0});
}

TEST_CASE("a wait that has ended is not shown") {
  Waits waits;
  auto wait = waits.begin("looking for a job", 5min, start);
  { const auto inner = waits.begin("waiting to be admitted", 1min, start); }
  CHECK(waits.shown(start + 1s) == WaitStatus{"looking for a job", 1000, 300'000});
  wait = waits.begin("waiting for nodes", 2min, start + 1s);
  CHECK(waits.shown(start + 2s) == WaitStatus{"waiting for nodes", 1000, 120'000});
}

TEST_CASE("a wait is logged once, after a tenth of its limit") {
  Waits waits;
  auto wait = waits.begin("waiting for 1 more node", 5min, start);
  CHECK(wait.due(start + 29s).empty());
  CHECK(wait.due(start + 30s + 400ms) == "still waiting for 1 more node (30s of 5min)");
  CHECK(wait.due(start + 4min).empty());
  auto without_limit = waits.begin("waiting as a spare", 0ms, start);
  CHECK(without_limit.due(start + 48h).empty());
}

TEST_CASE("a wait ends at its limit, and one without a limit never ends") {
  Waits waits;
  const auto wait = waits.begin("looking for a job", 5min, start);
  CHECK_FALSE(wait.is_over(start + 299s));
  CHECK(wait.left(start + 299s) == 1s);
  CHECK(wait.is_over(start + 5min));
  CHECK(wait.left(start + 6min) == 0s);
  CHECK_FALSE(waits.begin("waiting as a spare", 0ms, start).is_over(start + 48h));
}

TEST_CASE("the leader's description and limit replace the node's") {
  Waits waits;
  auto wait = waits.begin("waiting to be admitted to the job of a:1", 10min, start);
  wait.take({}, start + 1s);
  CHECK(wait.status(start + 1s) ==
        WaitStatus{"waiting to be admitted to the job of a:1", 1000, 600'000});
  wait.take({"waiting for 1 more node", 60'000, 300'000}, start + 2s);
  CHECK(wait.status(start + 2s) == WaitStatus{"waiting for 1 more node", 60'000, 300'000});
  wait.take({"waiting as a spare"}, start + 3s);
  CHECK_FALSE(wait.has_limit());
}

TEST_CASE("pauses between attempts grow to a few seconds and differ between daemons") {
  Backoff one{1}, other{2};
  auto longest = 0ms;
  bool differ = false;
  for (int i = 0; i < 20; ++i) {
    const auto pause = one.next();
    differ = differ || pause != other.next();
    CHECK(pause >= Backoff::first * 3 / 4);
    CHECK(pause <= Backoff::longest * 5 / 4);
    longest = std::max(longest, pause);
  }
  CHECK(longest > 2s);
  CHECK(differ);
  CHECK(Backoff{3}.next() <= Backoff::first * 5 / 4);
}

TEST_CASE("an error of another node is not invalid input of this node") {
  const Error elsewhere{Errc::data, "no images", {.node = "b:1"}};
  CHECK(elsewhere.exit_code() == 2);
  CHECK(seen_from("a:1", elsewhere).exit_code() == 1);
  CHECK(seen_from("b:1", elsewhere).exit_code() == 2);
  CHECK(seen_from("a:1", {Errc::data, "no images"}).exit_code() == 2);
  CHECK(seen_from("a:1", {Errc::data, "no images", {.node = "my-host"}}).exit_code() == 2);
}

TEST_CASE(
    "a daemon waits for a missing listen address until the limit, but not for a port in use") {
  std::vector<std::string> said;
  const auto say = [&](const std::string& text) { said.push_back(text); };
  int pauses = 0;
  const auto never_stopped = [&](std::chrono::milliseconds) { return ++pauses > 1000; };
  const auto taken = net::listen_on({"127.0.0.1", 0}).value();
  CHECK(await_listen_address({"cluster.listen", {"127.0.0.1", taken.port}}, 1min, say,
                             never_stopped));
  CHECK(pauses == 0);
  const ListenAddress missing{"cluster.listen",
                              {"192.0.2.1", 7401}}; // an address without a host (RFC 5737)
  const auto late = await_listen_address(missing, 20ms, say, [](std::chrono::milliseconds pause) {
    std::this_thread::sleep_for(pause);
    return false;
  });
  REQUIRE_FALSE(late);
  CHECK(late.error().whose == Whose::between);
  CHECK(late.error().exit_code() == 1);
  REQUIRE(said.size() == 1);
  CHECK(said.front().starts_with("cluster.listen: cannot listen on 192.0.2.1:0: "));
  const auto stopped = await_listen_address(missing, 1min, say, [](auto) { return true; });
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == Errc::stopped);
}
