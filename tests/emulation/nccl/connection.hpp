/// One end of a connection between a rank and its group in another process.
///
/// A thread sends and one receives, so that neither end waits for a process that stands still.
#pragma once

#include "tests/emulation/nccl/member.hpp"
#include "tests/emulation/nccl/socket.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace emulation::nccl {

/// A call of Group or Member; what the call does not have stays as it is here.
struct Message {
  enum class Call : std::uint8_t { join, bring, leave, complete, answer, fail };

  Call call;
  std::uint64_t number = 0; ///< of the group, or the ticket
  int size = 0;             ///< of the group
  Place place = {};
  Operation operation = {};
  ncclResult_t why = ncclSuccess;
  std::size_t bytes = 0; ///< that follow
};

class Connection : public std::enable_shared_from_this<Connection> {
public:
  using Received = std::function<void(const Message& message, Bytes bytes)>;

  explicit Connection(Socket socket) : socket_{std::move(socket)} {}

  /// `received` is called for each message, then `ended` once; both by one thread, which keeps them
  /// and this until then.
  void start(Received received, std::function<void()> ended);
  /// Never blocks.
  void send(const Message& message, Bytes bytes = {});
  /// Ends it when all has been sent.
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
