/// What ranks do that share memory, whatever memory that is: meet, read and write each other's
/// buffers, and part when all are done. Each sums its own slice, in rank order.
#pragma once

#include "collectives/shared_device/detail/rendezvous.hpp"

#include <span>

namespace troupe::collectives {

/// How a rank works on memory of all ranks.
class SharedMemory {
public:
  virtual ~SharedMemory() = default;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// See sum_in_order().
  virtual void sum(DType type, std::span<const void* const> sources, void* sum,
                   std::size_t elements) = 0;
  /// A sum is copied to the others in pieces of so many elements.
  virtual std::size_t piece_elements() const = 0;
  /// Blocks until what was called before is done.
  virtual Status finish() = 0;
};

/// A rank's place in its group, which the rank leaves when the last pointer to the seat goes.
struct Seat {
  Seat(std::shared_ptr<Rendezvous> group, int rank_) : rendezvous{std::move(group)}, rank{rank_} {}
  ~Seat() { rendezvous->leave(rank); }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  std::shared_ptr<Rendezvous> rendezvous;
  int rank;
};

/// One call of one rank, from its arrival to the end; blocks.
Status exchange(const Seat& seat, const Call& call, SharedMemory& memory);

} // namespace troupe::collectives
