/// Calls between ranks that share memory of any kind. The ranks synchronize, read and write each
/// other's buffers, and leave when all are done. Each sums its block, in rank order.
#pragma once

#include "collectives/shared_device/detail/rendezvous.hpp"

#include <span>

namespace troupe::collectives {

/// Operations of a rank on the memory of all ranks.
class SharedMemory {
public:
  virtual ~SharedMemory() = default;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// See sum_in_order().
  virtual void sum(DType type, std::span<const void* const> sources, void* sum,
                   std::size_t elements) = 0;
  /// Most elements of a sum before it is copied to the other ranks.
  virtual std::size_t piece_elements() const = 0;
  /// Blocks until all earlier operations are done.
  virtual Status finish() = 0;
};

/// A rank's membership in its group. The rank leaves when the last pointer to it is destroyed.
struct GroupMember {
  GroupMember(std::shared_ptr<Rendezvous> group, int rank_)
      : rendezvous{std::move(group)}, rank{rank_} {}
  ~GroupMember() { rendezvous->leave(rank); }
  GroupMember(const GroupMember&) = delete;
  GroupMember& operator=(const GroupMember&) = delete;

  std::shared_ptr<Rendezvous> rendezvous;
  int rank;
};

/// Runs one call of one rank, from its arrival to the end. Blocks.
Status exchange(const GroupMember& member, const Call& call, SharedMemory& memory);

} // namespace troupe::collectives
