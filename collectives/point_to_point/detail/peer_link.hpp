/// Link between two processes: a connection in each direction and the queue of outgoing messages.
#pragma once

#include "collectives/point_to_point/message.hpp"
#include "core/net/connection.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <mutex>

namespace troupe::collectives {

/// Sent before a message's values on a connection.
struct MessageHeader {
  std::int32_t from = 0, to = 0;
  std::array<std::int64_t, 6> header = {};
  std::uint64_t bytes = 0;
};
static_assert(sizeof(MessageHeader) == 64);

/// Any thread may enqueue messages; one thread writes and reads.
class PeerLink {
public:
  using Clock = std::chrono::steady_clock;
  using Memory = std::function<Result<BufferPtr>(int rank, std::size_t bytes)>;

  /// The connections belong to a channel.
  PeerLink(int process, net::Connection& out, net::Connection& in)
      : process_{process}, out_{out}, in_{in} {}

  int process() const { return process_; }
  void enqueue(Message message);
  /// Writes as much as the connection takes. Error: network, also if it has taken nothing for the
  /// timeout.
  Status write(std::chrono::milliseconds timeout);
  /// Returns a completely received message, or null if none is complete yet. Errors: network;
  /// invalid_input, if the message is too long; those of `memory`.
  Result<MessagePtr> read(const Memory& memory, std::size_t most_bytes);
  const net::Connection& out() const { return out_; }
  const net::Connection& in() const { return in_; }
  bool has_message() const;

  bool lost = false;

private:
  Result<std::size_t> write_some();

  int process_;
  net::Connection &out_, &in_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<Message> outgoing_;           ///< the first is being sent
  Clock::time_point moved_ = Clock::now(); ///< when bytes of the first last moved
  // Used by the writing and reading thread only.
  MessageHeader sent_header_;
  std::size_t sent_ = 0; ///< of the first: bytes of header and values
  MessageHeader coming_;
  std::size_t received_ = 0;          ///< of the header or the values
  std::shared_ptr<Message> incoming_; ///< null until its header has arrived
};

} // namespace troupe::collectives
