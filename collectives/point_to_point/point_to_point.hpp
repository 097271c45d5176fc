/// Mail between the ranks of a generation, whenever one has something for another: beside the
/// collectives, which all ranks make in one order.
#pragma once

#include "collectives/communicator.hpp"
#include "collectives/point_to_point/message.hpp"
#include "collectives/tcp/data_plane.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace troupe::collectives {

class PeerLink;

struct PointToPointOptions {
  std::vector<int> process_of;              ///< by rank
  int process = 0;                          ///< this one
  std::vector<Endpoint> endpoints = {};     ///< of all processes
  std::string group = "post";               ///< differs from all others of the meeting
  std::size_t most_bytes = 0;               ///< of a mail's values: who says more is not one of us
  std::chrono::milliseconds timeout{30000}; ///< in which nothing of a mail moves
  std::chrono::milliseconds connect_timeout{60000}; ///< for all processes to come together
};

/// Between ranks of one process mail goes from hand to hand; to each other process goes a
/// connection. What one rank sends another arrives in the order in which it was sent.
class PointToPoint {
public:
  /// What a rank does with its mail. Called from any thread, one call at a time; none may block,
  /// or call the post.
  struct Mailbox {
    std::function<void(MessagePtr)> deliver;
    std::function<Result<BufferPtr>(std::size_t bytes)> memory; ///< for what comes from elsewhere
    std::function<void(int process, const Error&)> lost;        ///< nothing comes from there again
  };

  /// Blocks until all processes are connected. Nothing is read before all ranks of this process
  /// attend. `meeting` may be null where there is one alone.
  /// Errors: network; whatever the meeting was cancelled for.
  static Result<std::shared_ptr<PointToPoint>>
  open(PointToPointOptions options, const std::shared_ptr<ConnectionGroup>& connection_group);
  ~PointToPoint();
  PointToPoint(const PointToPoint&) = delete;
  PointToPoint& operator=(const PointToPoint&) = delete;

  /// From now on a rank of this process gets its mail, also what has come before.
  void subscribe(int rank, Mailbox mailbox);
  /// Its mailbox is called no more.
  void leave(int rank);
  /// Never blocks. Mail to a process that is lost is thrown away.
  void send(Message message);
  /// Of the ranks of this process, to others, of their values alone.
  Traffic traffic(int rank) const;

private:
  explicit PointToPoint(PointToPointOptions options);
  Status connect(ConnectionGroup& connection_group);
  void serve();
  void deliver(MessagePtr message);
  void lose(PeerLink& link, const Error& why);
  Result<BufferPtr> memory_for(int rank, std::size_t bytes);
  bool all_subscribed() const;
  void move_messages();
  void await() const;

  PointToPointOptions options_;
  std::vector<std::unique_ptr<PeerLink>> links_; ///< to other processes
  net::Wakeup changed_;
  mutable std::mutex mutex_; ///< of what follows
  std::map<int, Mailbox> mailboxes_;
  std::vector<MessagePtr> early_; ///< for ranks that do not attend yet
  std::vector<std::pair<int, Error>> lost_;
  std::map<int, Traffic> traffic_;
  std::atomic<bool> closing_ = false;
  std::thread thread_;
};

} // namespace troupe::collectives
