/// Ranks of this process that have come together under one id, and what they do together.
///
/// An operation runs on its rank's hardware queue, and holds it until every rank that it needs has
/// come. Aborting a rank lets its own operations go, and nobody else's.
#pragma once

#include "operation.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

namespace emulation::nccl {

class Group;

struct Communicator {
  std::shared_ptr<Group> group;
  int rank, device;
  std::atomic<bool> aborted = false;
  std::atomic<int> running = 0; ///< operations that are enqueued
  std::atomic<ncclResult_t> failure = ncclSuccess;
  std::atomic<int> looks_left = 0; ///< until a non-blocking call has been carried out
  std::size_t collectives = 0;     ///< queue's thread alone, as what follows
  std::map<std::pair<int, bool>, std::size_t> messages = {}; ///< by peer and whether it sends
};

class Group {
public:
  explicit Group(int size) : members_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(members_.size()); }
  /// Errors: a rank that is there already, or a GPU that another rank has.
  ncclResult_t join(const std::shared_ptr<Communicator>& member);
  /// Whether all have joined; they may have left since.
  bool complete() const;
  /// Blocks until they are done, or this rank is aborted.
  void run(Communicator& member, const std::vector<Operation>& operations);
  void abort(Communicator& member);

private:
  /// (sender, receiver, number), or (-1, -1, number) for all ranks.
  using Key = std::tuple<int, int, std::size_t>;
  struct Meeting {
    std::map<int, Operation> came; ///< by rank
    std::size_t computed = 0, done = 0;
  };
  using MeetingPtr = std::shared_ptr<Meeting>;

  MeetingPtr open(Communicator& member, const Operation& operation);
  void finish(Communicator& member, const Operation& operation, Meeting& meeting);
  void run_collective(Communicator& member, const Operation& operation, Meeting& meeting);
  /// False when the rank was aborted.
  template <class Condition>
  bool wait(std::unique_lock<std::mutex>& lock, const Communicator& member, Condition condition) {
    changed_.wait(lock, [&] { return member.aborted || condition(); });
    return !member.aborted;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::weak_ptr<Communicator>> members_;
  std::size_t joined_ = 0;
  std::map<Key, MeetingPtr> meetings_;
};

} // namespace emulation::nccl
