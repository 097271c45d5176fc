#include "core/fail.hpp"
#include "cpu/host_stream.hpp"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace troupe;
using namespace troupe::cpu;

namespace {

/// An event of another device, which the test sets.
class ManualEvent final : public Event {
public:
  bool ready() const override { return ready_; }
  std::chrono::nanoseconds time() const override { return {}; }
  Status status() const override { return status_; }
  std::atomic<bool> ready_ = false;
  Status status_;
};

} // namespace

TEST_CASE("a stream runs its tasks in order") {
  HostStream stream{{}};
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i)
    stream.enqueue([&order, i]() -> Status {
      order.push_back(i);
      return {};
    });
  REQUIRE(stream.synchronize());
  REQUIRE(order.size() == 1000);
  for (int i = 0; i < 1000; ++i)
    REQUIRE(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("an event is ready exactly when the work before it is done") {
  HostStream first{{"first", 1}}, second{{"second", 1}};
  std::atomic<bool> go = false;
  int value = 0;
  first.enqueue([&]() -> Status {
    go.wait(false);
    value = 1;
    return {};
  });
  const auto written = first.record();
  REQUIRE_FALSE(written->ready());
  second.wait(written);
  int seen = 0;
  second.enqueue([&]() -> Status {
    seen = value;
    return {};
  });
  const auto before = std::chrono::steady_clock::now().time_since_epoch();
  go = true;
  go.notify_all();
  REQUIRE(second.synchronize());
  REQUIRE(seen == 1);
  REQUIRE(written->ready());
  REQUIRE(written->time() >= before);
}

TEST_CASE("a failed task stops its stream, and its error reaches callbacks and waiting streams") {
  HostStream failing{{"failing", 1}}, waiting{{"waiting", 1}};
  bool ran = false;
  failing.enqueue([]() -> Status { return fail(Errc::numeric, "first"); });
  failing.enqueue([]() -> Status { return fail(Errc::internal, "second"); });
  failing.enqueue([&]() -> Status {
    ran = true;
    return {};
  });
  Status reported;
  failing.on_complete([&](Status status) { reported = std::move(status); });
  waiting.wait(failing.record());
  const auto status = waiting.synchronize();
  REQUIRE_FALSE(status);
  REQUIRE(status.error().message == "first");
  REQUIRE_FALSE(failing.synchronize());
  REQUIRE_FALSE(ran);
  REQUIRE(reported.error().code == Errc::numeric);
}

TEST_CASE("an exception in a task becomes an error of the device") {
  HostStream stream{{}};
  stream.enqueue([]() -> Status { throw std::runtime_error{"no such primitive"}; });
  const auto status = stream.synchronize();
  REQUIRE_FALSE(status);
  REQUIRE(status.error().code == Errc::device);
  REQUIRE(status.error().message.find("no such primitive") != std::string::npos);
}

TEST_CASE("objects captured by a task are released when it is done, even if no task follows") {
  HostStream stream{{.name = "test"}};
  auto held = std::make_shared<int>();
  const std::weak_ptr watched = held;
  stream.enqueue([held = std::move(held)]() -> Status { return {}; });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (!watched.expired() && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  CHECK(watched.expired());
}

TEST_CASE("destroying a stream finishes its enqueued work") {
  int done = 0;
  {
    HostStream stream{{}};
    for (int i = 0; i < 100; ++i)
      stream.enqueue([&]() -> Status {
        ++done;
        return {};
      });
  }
  REQUIRE(done == 100);
}

TEST_CASE("a stream waits for another device's event, but its destruction does not") {
  const auto event = std::make_shared<ManualEvent>();
  {
    HostStream stream{{}};
    stream.wait(event);
    int seen = 0;
    stream.enqueue([&]() -> Status {
      seen = event->ready() ? 1 : 2;
      return {};
    });
    event->ready_ = true;
    REQUIRE(stream.synchronize());
    REQUIRE(seen == 1);
  }
  HostStream stream{{}};
  stream.wait(std::make_shared<ManualEvent>());
}

TEST_CASE("a stream that waits for another device's failure fails with its error") {
  const auto event = std::make_shared<ManualEvent>();
  event->status_ = fail(Errc::device, "burnt");
  HostStream stream{{}};
  stream.wait(event);
  event->ready_ = true;
  const auto status = stream.synchronize();
  REQUIRE_FALSE(status);
  CHECK(status.error().message == "burnt");
  const auto own = std::dynamic_pointer_cast<HostEvent>(stream.record());
  CHECK_FALSE(own->wait());
  CHECK(own->status().error().message == "burnt");
}

TEST_CASE("a callback of a host stream may destroy it") {
  std::atomic<bool> destroyed = false;
  auto stream =
      std::make_shared<std::unique_ptr<HostStream>>(std::make_unique<HostStream>(StreamOptions{}));
  auto* const raw = stream->get();
  raw->on_complete([stream = std::move(stream), &destroyed](Status) {
    stream->reset();
    destroyed = true;
    destroyed.notify_all();
  });
  destroyed.wait(false);
  SUCCEED();
}
