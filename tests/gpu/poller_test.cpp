#include "core/fail.hpp"
#include "gpu/poller.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <vector>

using namespace troupe;
using namespace troupe::gpu;
using namespace std::chrono_literals;

namespace {

Poller::Check once(const std::atomic<bool>& flag) {
  return [&flag]() -> std::optional<Status> {
    if (flag)
      return Status{};
    return std::nullopt;
  };
}

bool comes_true(const std::atomic<bool>& flag) {
  for (int i = 0; i < 5000 && !flag; ++i)
    std::this_thread::sleep_for(1ms);
  return flag;
}

} // namespace

TEST_CASE("polling intervals grow with the waiting time up to a bound") {
  const PollPacing pacing;
  CHECK(pacing.nap(10us) == 0ns);
  CHECK(pacing.nap(100us) == 20us);
  CHECK(pacing.nap(1600us) == 100us);
  CHECK(pacing.nap(1s) == 200us);
}

TEST_CASE("entries of a lane are processed in order, and lanes do not wait for each other") {
  Poller poller{"test"};
  std::atomic<bool> slow = false, fast = true, fast_done = false;
  std::vector<int> order;
  poller.add(1, once(slow), [&](const Status&) { order.push_back(1); });
  poller.add(1, once(fast), [&](const Status&) { order.push_back(2); });
  poller.add(2, once(fast), [&](const Status&) { fast_done = true; });
  REQUIRE(comes_true(fast_done));
  slow = true;
  poller.drain(1);
  REQUIRE(order == std::vector<int>{1, 2});
}

TEST_CASE("a callback receives the outcome and may add another entry") {
  Poller poller{"test"};
  std::atomic<bool> done = false;
  Status seen;
  poller.add(
      1, [] { return std::optional<Status>{fail(Errc::device, "broken")}; },
      [&](Status status) {
        seen = std::move(status);
        poller.add(
            2, [] { return std::optional<Status>{Status{}}; }, [&](const Status&) { done = true; });
      });
  REQUIRE(comes_true(done));
  REQUIRE_FALSE(seen);
  REQUIRE(seen.error().message == "broken");
}

TEST_CASE("destroying a poller completes outstanding entries") {
  std::atomic<bool> ready = false, done = false;
  std::thread later{[&] {
    std::this_thread::sleep_for(5ms);
    ready = true;
  }};
  {
    Poller poller{"test"};
    poller.add(1, once(ready), [&](const Status&) { done = true; });
  }
  REQUIRE(done);
  later.join();
}

TEST_CASE("a callback may destroy the poller, and drain in a callback does not wait for itself") {
  std::atomic<bool> destroyed = false;
  auto owner = std::make_shared<std::unique_ptr<Poller>>(std::make_unique<Poller>("test"));
  auto* const poller = owner->get();
  poller->add(
      1, [] { return std::optional<Status>{Status{}}; },
      [owner = std::move(owner), &destroyed](const Status&) {
        (*owner)->drain(1);
        owner->reset();
        destroyed = true;
      });
  REQUIRE(comes_true(destroyed));
}

TEST_CASE("objects captured by an entry are released once its lane is drained") {
  Poller poller{"test"};
  auto held = std::make_shared<int>(1);
  std::weak_ptr<int> watched = held;
  poller.add(
      7, [held] { return std::optional<Status>{Status{}}; }, [held](const Status&) {});
  held.reset();
  poller.drain(7);
  REQUIRE(watched.expired());
}
