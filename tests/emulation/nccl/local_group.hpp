/// The group in the process that created its id.
#pragma once

#include "tests/emulation/nccl/group.hpp"

#include <cstddef>
#include <map>
#include <mutex>
#include <tuple>

namespace emulation::nccl {

class LocalGroup final : public Group {
public:
  explicit LocalGroup(int size) : size_{static_cast<std::size_t>(size)} {}

  void join(const std::shared_ptr<Member>& member, const Place& place) override;
  void bring(const Member& member, std::uint64_t ticket, Contribution contribution) override;
  void leave(const Member& member) override;
  /// Fails the other members, because the member's process has ended.
  void lose(const Member& member);

private:
  struct Seat {
    std::shared_ptr<Member> member;
    Place place;
    std::size_t collectives = 0;                               ///< number of its contributions
    std::map<std::pair<int, bool>, std::size_t> messages = {}; ///< by peer and whether it sends
  };
  /// (sender, receiver, number), or (-1, -1, number) for all ranks.
  using Key = std::tuple<int, int, std::size_t>;
  struct Arrival {
    std::shared_ptr<Member> member;
    std::uint64_t ticket;
    Contribution contribution;
  };
  /// By rank, or sender and receiver: a message to itself has both ends.
  using Meeting = std::map<int, Arrival>;

  bool has_rank(int rank) const;
  bool one_gpu_each() const;
  std::size_t needed(const Operation& operation) const {
    return operation.collective() ? size_ : 2;
  }
  /// Returns false when the member has left before.
  bool remove(const Member& member);
  static Key next_key(Seat& seat, const Operation& operation);
  static bool all_fit(const Meeting& meeting, const Operation& operation);
  static void finish(Meeting meeting);

  std::mutex mutex_;
  std::size_t size_, joined_ = 0;
  bool lost_ = false; ///< a rank was lost
  std::map<const Member*, Seat> seats_;
  std::map<Key, Meeting> meetings_;
};

} // namespace emulation::nccl
