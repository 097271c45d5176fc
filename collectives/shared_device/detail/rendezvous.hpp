/// Synchronizes the ranks of one process for a call, each on a thread that may block.
#pragma once

#include "collectives/call.hpp"
#include "core/error.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace troupe::collectives {

/// Thread-safe. If one rank fails, all fail with the first reason.
class Rendezvous {
public:
  Rendezvous(int world_size, std::chrono::milliseconds timeout)
      : timeout_{timeout}, left_(static_cast<std::size_t>(world_size), false) {}

  int world_size() const { return static_cast<int>(left_.size()); }
  std::chrono::milliseconds timeout() const { return timeout_; }

  /// Blocks until every rank that the call needs has arrived with the same call; returns their
  /// calls by rank. A rank must depart after a successful arrival. Errors: collective, with the
  /// call and the missing ranks.
  Result<std::vector<Call>> arrive(int rank, const Call& call);
  /// Blocks until all ranks that arrived are done with each other's memory. They wait for nothing
  /// else in the meantime, so this needs no timeout, and an abort would not help.
  void depart(int rank, const Call& call);
  /// The rank takes part in no further call.
  void leave(int rank);
  void abort(const Error& reason);

private:
  /// Sender and receiver (-1: all ranks), and the number of the call.
  using Key = std::tuple<int, int, std::int64_t>;
  struct PendingCall {
    std::vector<std::optional<Call>> calls; ///< by rank
    std::vector<int> needed;                ///< ranks
    std::size_t arrived = 0, departed = 0;

    bool complete() const { return arrived == needed.size(); }
  };

  static Key key_of(int rank, const Call& call);
  std::shared_ptr<PendingCall> open(int rank, const Call& call);
  static Status check_same(const PendingCall& pending, int rank, const Call& call);
  std::vector<int> missing(const PendingCall& pending, bool only_those_who_left) const;
  tl::unexpected<Error> give_up(int rank, std::string message);
  tl::unexpected<Error> aborted(int rank) const;

  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, std::shared_ptr<PendingCall>> pending_calls_;
  std::vector<bool> left_;
  std::optional<Error> aborted_;
};

} // namespace troupe::collectives
