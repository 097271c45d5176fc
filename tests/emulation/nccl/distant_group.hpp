/// A group for a rank whose process did not create the group's id: one end of a connection to the
/// process that did.
#pragma once

#include "tests/emulation/nccl/connection.hpp"
#include "tests/emulation/nccl/group.hpp"

namespace emulation::nccl {

/// The group of one rank.
class DistantGroup final : public Group {
public:
  /// `place`: place of the other process (reception.hpp).
  DistantGroup(std::uint64_t place, std::uint64_t number, int size)
      : place_{place}, number_{number}, size_{size} {}

  /// Also fails the member when that process ends, now or later.
  void join(const std::shared_ptr<Member>& member, const Place& place) override;
  void bring(const Member& member, std::uint64_t ticket, Contribution contribution) override;
  void leave(const Member& member) override;

private:
  std::uint64_t place_, number_;
  int size_;
  std::shared_ptr<Connection> connection_; ///< null: no process listens
};

} // namespace emulation::nccl
