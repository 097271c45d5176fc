#include "tests/emulation/nccl/connection.hpp"

#include "tests/emulation/runtime/settings.hpp"

#include <thread>

namespace emulation::nccl {

void Connection::start(Received received, std::function<void()> ended) {
  std::thread{[me = shared_from_this()] { me->send_all(); }}.detach();
  std::thread{[me = shared_from_this(), received = std::move(received), ended = std::move(ended)] {
    me->receive_all(received);
    ended();
    me->close();
  }}.detach();
}

void Connection::send(const Message& message, Bytes bytes) {
  const std::lock_guard lock{mutex_};
  waiting_.emplace_back(message, std::move(bytes));
  waiting_.back().first.bytes = waiting_.back().second.size();
  changed_.notify_one();
}

void Connection::close() {
  const std::lock_guard lock{mutex_};
  closing_ = true;
  changed_.notify_one();
}

void Connection::send_all() {
  for (;;) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    if (waiting_.empty())
      return socket_.shut();
    const auto [message, bytes] = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    random_delay();
    if (!socket_.send(&message, sizeof message) || !socket_.send(bytes.data(), bytes.size()))
      return socket_.shut();
  }
}

void Connection::receive_all(const Received& received) const {
  for (Message message; socket_.receive(&message, sizeof message);) {
    Bytes bytes(message.bytes);
    if (!socket_.receive(bytes.data(), bytes.size()))
      return;
    random_delay();
    received(message, std::move(bytes));
  }
}

} // namespace emulation::nccl
