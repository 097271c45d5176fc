/// A rank of this process. Its calls run on its hardware queue and block it until every rank that
/// they need has arrived. Aborting a rank releases only its calls.
#pragma once

#include "tests/emulation/nccl/group.hpp"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

namespace emulation::nccl {

struct Call {
  Operation operation;
  const void* from; ///< null for a receive
  void* to;         ///< null for a send
  std::size_t sent; ///< bytes
};

class Communicator final : public Member, public std::enable_shared_from_this<Communicator> {
public:
  Communicator(std::shared_ptr<Group> group, int size, int device)
      : size_{size}, device_{device}, group_{std::move(group)},
        peers_(static_cast<std::size_t>(size)) {}

  int size() const { return size_; }
  int device() const { return device_; }
  /// Loads what the call needs for the first time: its kernel, and the connection to its peer.
  void prepare(const Call& call);

  void join(int rank);
  /// Blocks until the calls are done or the communicator is aborted. The sends of a group of calls
  /// do not wait for earlier receives of the group.
  void run(const std::vector<Call>& calls);
  void abort();
  /// Call when the rank makes no more calls.
  void leave() { group_->leave(*this); }

  void complete() override;
  void answer(std::uint64_t ticket, BytesPtr result) override;
  void fail(ncclResult_t why) override;

  bool is_complete() const { return complete_; }
  ncclResult_t failure() const { return failure_; }

  std::atomic<bool> aborted = false;
  std::atomic<int> running = 0;    ///< enqueued runs
  std::atomic<int> looks_left = 0; ///< queries until a non-blocking call is complete

private:
  BytesPtr wait(std::uint64_t ticket);

  int size_, device_;
  std::shared_ptr<Group> group_;
  std::vector<char> peers_; ///< their addresses stand for connections
  std::atomic<bool> complete_ = false;
  std::atomic<ncclResult_t> failure_ = ncclSuccess;
  std::uint64_t tickets_ = 0; ///< used only by the queue's thread
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, BytesPtr> results_; ///< by ticket
};

} // namespace emulation::nccl
