/// The way between two processes: a connection in each direction, and what waits for them.
#pragma once

#include "collectives/point_to_point/message.hpp"
#include "core/net/connection.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

namespace troupe::collectives {

/// What stands before a mail's values on a connection.
struct MessageHeader {
  std::int32_t from = 0, to = 0;
  std::array<std::int64_t, 6> header = {};
  std::uint64_t bytes = 0;
};
static_assert(sizeof(MessageHeader) == 64);

/// Anybody may post(); one thread moves what there is.
class PeerLink {
public:
  using Clock = std::chrono::steady_clock;
  using Memory = std::function<Result<BufferPtr>(int rank, std::size_t bytes)>;

  PeerLink(int process, net::Connection out, net::Connection in)
      : process_{process}, out_{std::move(out)}, in_{std::move(in)} {}

  int process() const { return process_; }
  void enqueue(Message message);
  /// Writes what the connection takes. Error: network, or it has taken nothing for the timeout.
  Status write(std::chrono::milliseconds timeout);
  /// A mail that has come whole; nothing: there is none yet. Errors: network; invalid_input, where
  /// what comes is no mail for a rank that `memory` knows; those of `memory`.
  Result<MessagePtr> read(const Memory& memory, std::size_t most_bytes);
  // For poll(2): what each connection waits for; 0: nothing.
  const net::Connection& out() const { return out_; }
  const net::Connection& in() const { return in_; }
  bool has_message() const;

  bool lost = false;

private:
  Result<std::size_t> write_some();
  bool ends_message();

  int process_;
  net::Connection out_, in_;
  mutable std::mutex mutex_;
  // Guarded.
  std::deque<Message> outgoing_;           ///< the first is on its way
  Clock::time_point moved_ = Clock::now(); ///< when some of it last did
  MessageHeader sent_header_;
  std::size_t sent_ = 0; ///< of the first, heading and values
  MessageHeader coming_;
  std::size_t received_ = 0;
  std::shared_ptr<Message> incoming_; ///< null: its heading is not there yet
};

} // namespace troupe::collectives
