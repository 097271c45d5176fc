/// Point-to-point messages between the ranks of a generation, sent at any time. Collectives, in
/// contrast, are made by all ranks in one order.
#pragma once

#include "collectives/data_plane/channel.hpp"
#include "collectives/point_to_point/message.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe::collectives {

class PeerLink;

struct PointToPointOptions {
  std::vector<int> process_of; ///< by rank
  ChannelOptions channel = {}; ///< a process that takes no byte for its timeout is lost
  std::size_t most_bytes = 0;  ///< of a message's values; a peer that announces more is lost
};

/// Passes messages within a process by pointer, and over a channel to other processes. Messages
/// from one rank to another arrive in the order in which they were sent.
class PointToPoint {
public:
  /// Callbacks of a rank. Called from any thread, one call at a time. A callback must not block or
  /// call the transport.
  struct Mailbox {
    std::function<void(MessagePtr)> deliver;
    std::function<Result<BufferPtr>(std::size_t bytes)> memory; ///< for messages of other processes
    std::function<void(int process, const Error&)> lost; ///< nothing more arrives from that process
  };

  /// Blocks until all processes are connected. Reads nothing until all ranks of this process have
  /// subscribed. `connection_group` may be null if there is only one process. Errors: network; the
  /// reason if the connection group was cancelled.
  static Result<std::shared_ptr<PointToPoint>>
  open(PointToPointOptions options, const std::shared_ptr<ConnectionGroup>& connection_group);
  ~PointToPoint();
  PointToPoint(const PointToPoint&) = delete;
  PointToPoint& operator=(const PointToPoint&) = delete;

  /// Delivers messages for this rank of the process from now on, and those that arrived earlier.
  void subscribe(int rank, Mailbox mailbox);
  /// Never blocks. Drops messages to a lost process.
  void send(Message message);

private:
  PointToPoint(PointToPointOptions options, std::shared_ptr<ConnectionGroup> connection_group);
  Status connect();
  void serve();
  void deliver(MessagePtr message);
  void lose(PeerLink& link, const Error& why);
  Result<BufferPtr> memory_for(int rank, std::size_t bytes);
  bool all_subscribed() const;
  void move_messages();
  void await() const;

  std::vector<int> process_of_;
  std::size_t most_bytes_;
  Channel channel_;                              ///< its members are the processes
  std::vector<std::unique_ptr<PeerLink>> links_; ///< to other processes
  net::Wakeup changed_;
  mutable std::mutex mutex_; ///< guards the following
  std::map<int, Mailbox> mailboxes_;
  std::vector<MessagePtr> early_; ///< for ranks that have not subscribed yet
  std::vector<std::pair<int, Error>> lost_;
  std::atomic<bool> closing_ = false;
  std::thread thread_;
};

} // namespace troupe::collectives
