/// Ranks that assemble under one id. No call blocks: results are reported to the Member.
#pragma once

#include "tests/emulation/nccl/member.hpp"

namespace emulation::nccl {

class Group {
public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  /// Fails the member when its rank has already joined. Fails all members when the group is
  /// complete and two ranks have one GPU.
  virtual void join(const std::shared_ptr<Member>& member, const Place& place) = 0;
  /// Adds the member's contribution to its next operation. Fails all contributing members when one
  /// contribution does not fit the others: NCCL would mix memory, or hang.
  virtual void bring(const Member& member, std::uint64_t ticket, Contribution contribution) = 0;
  /// Removes the member. Operations that need it keep waiting.
  virtual void leave(const Member& member) = 0;
};

} // namespace emulation::nccl
