// Tests messages between ranks of several processes: each message is delivered once, complete, and
// in the order of its sender.
#include "collectives/point_to_point/point_to_point.hpp"
#include "core/random.hpp"
#include "cpu/host_device.hpp"
#include "tests/support/loopback.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <condition_variable>
#include <cstring>
#include <map>

using namespace troupe;
using namespace troupe::collectives;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using testing::Loopback;

namespace {

constexpr auto longest = 30s;

/// The messages that one rank has received.
class Correspondent {
public:
  Correspondent(std::shared_ptr<PointToPoint> point_to_point, int number)
      : point_to_point_{std::move(point_to_point)}, number_{number}, device_{cpu::make_host_device(
                                                                         number, 1)} {}
  /// Replaces the callbacks, which use this object. Messages that come later are dropped.
  ~Correspondent() {
    point_to_point_->subscribe(number_, {.deliver = [](const MessagePtr&) {},
                                         .memory =
                                             [device = device_](std::size_t bytes) {
                                               return device->allocate(bytes,
                                                                       MemoryKind::communication);
                                             },
                                         .lost = [](int, const Error&) {}});
  }
  Correspondent(const Correspondent&) = delete;
  Correspondent& operator=(const Correspondent&) = delete;

  void subscribe() {
    point_to_point_->subscribe(
        number_, {.deliver = [this](MessagePtr message) { note(got_, std::move(message)); },
                  .memory = [this](std::size_t bytes) { return memory(bytes); },
                  .lost =
                      [this](int process, const Error& why) {
                        note(lost_, std::pair{process, why.message});
                      }});
  }
  /// Sends values that depend on sender and number.
  void send(int to, std::int64_t number, std::size_t floats) {
    Message message{.from = number_, .to = to, .header = {number}, .bytes = floats * sizeof(float)};
    if (floats > 0) {
      message.values = *memory(message.bytes);
      for (std::size_t i = 0; i < floats; ++i)
        message.values->floats()[i] = value(number_, number, i);
    }
    point_to_point_->send(std::move(message));
  }
  static float value(int from, std::int64_t number, std::size_t i) {
    return static_cast<float>(from * 1000 + number) + static_cast<float>(i % 1000) / 1024;
  }
  std::vector<MessagePtr> await_message(std::size_t count) {
    std::unique_lock lock{mutex_};
    REQUIRE(changed_.wait_for(lock, longest, [&] { return got_.size() >= count; }));
    return got_;
  }
  std::vector<std::pair<int, std::string>> await_losses(std::size_t count) {
    std::unique_lock lock{mutex_};
    REQUIRE(changed_.wait_for(lock, longest, [&] { return lost_.size() >= count; }));
    return lost_;
  }

private:
  Result<BufferPtr> memory(std::size_t bytes) const {
    return device_->allocate(bytes, MemoryKind::communication);
  }
  template <class T>
  void note(std::vector<T>& list, T what) {
    const std::lock_guard lock{mutex_};
    list.push_back(std::move(what));
    changed_.notify_all();
  }

  std::shared_ptr<PointToPoint> point_to_point_;
  int number_;
  std::shared_ptr<Device> device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<MessagePtr> got_;
  std::vector<std::pair<int, std::string>> lost_;
};

/// Four ranks: two in the first process and one in each other process.
struct Transports {
  explicit Transports(std::size_t most_bytes = std::size_t{8} << 20) : loopback{3} {
    std::vector<std::future<Result<std::shared_ptr<PointToPoint>>>> opening;
    for (int process = 0; process < 3; ++process)
      opening.push_back(std::async(std::launch::async, [this, process, most_bytes] {
        return PointToPoint::open(
            {.process_of = {0, 0, 1, 2},
             .channel = {.member = process, .endpoints = loopback.endpoints, .group = "messages"},
             .most_bytes = most_bytes},
            loopback.join_group(process));
      }));
    for (auto& each : opening) {
      auto point_to_point = each.get();
      REQUIRE(point_to_point);
      transports.push_back(*point_to_point);
    }
    for (int rank = 0; rank < 4; ++rank)
      ranks.push_back(std::make_unique<Correspondent>(
          transports[static_cast<std::size_t>(std::max(0, rank - 1))], rank));
  }

  Loopback loopback;
  std::vector<std::shared_ptr<PointToPoint>> transports;
  std::vector<std::unique_ptr<Correspondent>> ranks;
};

void check_values(const Message& message) {
  bool same = true;
  for (std::size_t i = 0; i < message.bytes / sizeof(float); ++i)
    same = same &&
           message.values->floats()[i] == Correspondent::value(message.from, message.header[0], i);
  CHECK(same);
}

} // namespace

TEST_CASE("messages of any size arrive once, complete and in their sender's order") {
  Transports transports;
  constexpr std::int64_t each = 30;
  CounterRng random{7, 1};
  // The first rank subscribes late.
  for (std::size_t rank = 1; rank < 4; ++rank)
    transports.ranks[rank]->subscribe();
  for (std::int64_t number = 0; number < each; ++number)
    for (int from = 0; from < 4; ++from)
      for (int to = 0; to < 4; ++to) {
        const auto floats = number % 5 == 0 ? 0 : std::size_t{random.next()} % 100000;
        transports.ranks[static_cast<std::size_t>(from)]->send(to, number, floats);
      }
  transports.ranks[0]->subscribe();
  for (int to = 0; to < 4; ++to) {
    std::map<int, std::int64_t> next;
    const auto got = transports.ranks[static_cast<std::size_t>(to)]->await_message(4 * each);
    REQUIRE(got.size() == 4 * each);
    for (const auto& message : got) {
      CHECK(message->to == to);
      CHECK(message->header[0] == next[message->from]++);
      check_values(*message);
    }
  }
}

TEST_CASE("sending does not wait for a receiver, and nothing sent is lost") {
  Transports transports;
  for (std::int64_t number = 0; number < 20; ++number)
    transports.ranks[0]->send(2, number, 1 << 20); // 80 MiB that are not received yet
  transports.ranks[2]->subscribe();
  for (const auto& message : transports.ranks[2]->await_message(20))
    check_values(*message);
}

TEST_CASE("a lost rank is reported to each rank, and messages to it are dropped") {
  Transports transports;
  for (const auto& rank : transports.ranks)
    rank->subscribe();
  transports.ranks.pop_back();
  transports.transports.pop_back();
  for (const auto& rank : transports.ranks) {
    const auto lost = rank->await_losses(1);
    CHECK(lost.front().first == 2);
    CHECK_THAT(lost.front().second, ContainsSubstring("node 2: 127.0.0.1"));
  }
  transports.ranks[0]->send(3, 0, 1000);
  transports.ranks[0]->send(2, 0, 1000); // the other ranks continue
  check_values(*transports.ranks[2]->await_message(1).front());
}

TEST_CASE("a message that announces more than the limit closes its link") {
  Transports transports{1000};
  for (const auto& rank : transports.ranks)
    rank->subscribe();
  transports.ranks[2]->send(0, 0, 1000);
  const auto lost = transports.ranks[1]->await_losses(1);
  CHECK(lost.front().first == 1);
  CHECK_THAT(lost.front().second, ContainsSubstring("4000 bytes, but the limit is 1000"));
}
