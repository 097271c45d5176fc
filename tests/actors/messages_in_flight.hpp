/// Simulated messages between daemons, which a test delivers in the order that it wants.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

namespace troupe::actors::test {

/// Messages on their way. Those with the same sender and receiver stay in order.
class Messages {
public:
  void send(int from, int to, std::function<void()> deliver) {
    queues_[{from, to}].push_back({++sent_, std::move(deliver)});
  }
  bool empty() const { return queues_.empty(); }
  std::size_t queues() const { return queues_.size(); }
  /// Delivers the first message of the queue with this index.
  void deliver(std::size_t queue) { deliver(std::next(queues_.begin(), static_cast<int>(queue))); }
  /// Delivers the message that was sent first.
  void deliver_first() {
    deliver(
        std::ranges::min_element(queues_, {}, [](const auto& queue) { return first_of(queue); }));
  }
  /// Delivers from the queue whose first message was sent last.
  void deliver_last() {
    deliver(
        std::ranges::max_element(queues_, {}, [](const auto& queue) { return first_of(queue); }));
  }

private:
  struct Message {
    std::int64_t number;
    std::function<void()> deliver;
  };
  using Queues = std::map<std::pair<int, int>, std::deque<Message>>;

  static std::int64_t first_of(const Queues::value_type& queue) {
    return queue.second.front().number;
  }
  void deliver(Queues::iterator queue) {
    const auto message = std::move(queue->second.front());
    queue->second.pop_front();
    if (queue->second.empty())
      queues_.erase(queue);
    message.deliver();
  }

  Queues queues_;
  std::int64_t sent_ = 0;
};

} // namespace troupe::actors::test
