/// One end of a connection between a rank and its group in another process.
///
/// One thread sends and another receives, so that neither end waits for a stopped process.
#pragma once

#include "tests/emulation/nccl/member.hpp"
#include "tests/emulation/nccl/socket.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace emulation::nccl {

/// A call of Group or Member; members that the call does not use keep their defaults.
struct Message {
  enum class Call : std::uint8_t { join, bring, leave, complete, answer, fail };

  Call call;
  std::uint64_t number = 0; ///< of the group, or the ticket
  int size = 0;             ///< of the group
  Place place = {};
  Operation operation = {};
  ncclResult_t why = ncclSuccess;
  std::size_t bytes = 0; ///< that follow the message
};

class Connection : public std::enable_shared_from_this<Connection> {
public:
  using Received = std::function<void(const Message& message, Bytes bytes)>;

  explicit Connection(Socket socket) : socket_{std::move(socket)} {}

  /// Calls `received` for each message, then `ended` once. One thread makes these calls and keeps
  /// the callbacks and this object alive until then.
  void start(Received received, std::function<void()> ended);
  /// Never blocks.
  void send(const Message& message, Bytes bytes = {});
  /// Closes the connection when all messages are sent.
  void close();

private:
  void send_all();
  void receive_all(const Received& received) const;

  Socket socket_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<Message, Bytes>> waiting_;
  bool closing_ = false;
};

} // namespace emulation::nccl
