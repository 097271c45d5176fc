/// Collectives between the ranks of a job. One interface, backends beside each other, chosen at run
/// time and passed as an object. Only the SHARD MANAGER of a rank calls it.
#pragma once

#include "troupe/core/device.hpp"

#include <cstdint>
#include <memory>

namespace troupe::collectives {

/// What a communicator has moved so far, for metrics.
struct Traffic {
  std::uint64_t operations = 0;
  std::uint64_t bytes =
      0; ///< sent by this rank, as a ring would: 2 (N-1)/N of an all-reduce's size
};

/// Calls only enqueue; every rank must make the same calls in the same order. A failure (another
/// rank died, stalled beyond the timeout, or called something else) fails the stream with
/// Errc::collective; the message names rank, operation and sequence number.
class Communicator {
public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  /// values[i] = sum over ranks, summed in rank order: the same bits on every rank and every run.
  virtual void all_reduce(Stream& stream, float* values, std::size_t elements) = 0;
  /// values of the root are copied to all ranks.
  virtual void broadcast(Stream& stream, float* values, std::size_t elements, int root) = 0;
  virtual Traffic traffic() const = 0;
  /// Fails every pending and later operation of all ranks. Thread-safe.
  virtual void abort(const Error& reason) = 0;
};

} // namespace troupe::collectives
