/// Ranks that come together under one id. Nothing here blocks: who joins and who brings something
/// hears of it as a Member.
#pragma once

#include "tests/emulation/nccl/member.hpp"

namespace emulation::nccl {

class Group {
public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  /// Fails the member when its rank is there already, and all when they are complete and two have
  /// one GPU.
  virtual void join(const std::shared_ptr<Member>& member, const Place& place) = 0;
  /// Its part of the member's next operation. Fails all that have brought theirs when one does not
  /// fit the others: NCCL would mix memory, or hang.
  virtual void bring(const Member& member, std::uint64_t ticket, Contribution contribution) = 0;
  /// The others go on waiting for it.
  virtual void leave(const Member& member) = 0;
};

} // namespace emulation::nccl
