/// A group as a rank of another process than that of its id has it: the end of a connection there.
#pragma once

#include "tests/emulation/nccl/connection.hpp"
#include "tests/emulation/nccl/group.hpp"

namespace emulation::nccl {

/// Of one rank.
class DistantGroup final : public Group {
public:
  /// `place`: the process's (reception.hpp).
  DistantGroup(std::uint64_t place, std::uint64_t number, int size)
      : place_{place}, number_{number}, size_{size} {}

  /// Fails the member also when the process is gone, now or later.
  void join(const std::shared_ptr<Member>& member, const Place& place) override;
  void bring(const Member& member, std::uint64_t ticket, Contribution contribution) override;
  void leave(const Member& member) override;

private:
  std::uint64_t place_, number_;
  int size_;
  std::shared_ptr<Connection> connection_; ///< null: there was nobody
};

} // namespace emulation::nccl
