/// Collectives between the ranks of a group: one interface with several backends, chosen at run
/// time and passed as an object. One actor of a rank calls it: the SHARD MANAGER, or the WORKER for
/// the statistics of its batch norms (ADR 0011).
#pragma once

#include "core/device/device.hpp"
#include "core/graph/tensor.hpp"

#include <cstdint>
#include <memory>

namespace troupe::collectives {

/// Traffic of a communicator so far, for metrics.
struct Traffic {
  std::uint64_t operations = 0;
  /// Bytes sent by this rank, counted as the minimum for each operation: 2 S (N-1)/N for an
  /// all-reduce of S bytes, S (N-1)/N for an all-gather or reduce-scatter of S bytes in all.
  std::uint64_t bytes = 0;
};

/// Values in memory of the stream's device.
struct Values {
  void* data = nullptr;
  std::size_t elements = 0;
  DType type = DType::f32;

  std::size_t bytes() const { return elements * size_of(type); }
};

/// Calls only enqueue. Every rank of the group must make the same calls in the same order; send and
/// receive come in pairs. If a rank dies, stalls beyond the timeout or makes a different call, the
/// stream fails with Errc::collective; the message names rank, peer, operation and sequence number.
/// Sums have the same bits on every rank and in every run. f16 and bf16 are summed in f32 and
/// rounded once if the backend can.
class Communicator {
public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  /// values[i] = sum over ranks.
  virtual void all_reduce(Stream& stream, const Values& values) = 0;
  /// `mine` (elements) = sum over ranks of their all[rank() * elements ...]. `all` holds
  /// world_size() * elements and is overwritten. `mine` may alias its block of `all`.
  virtual void reduce_scatter(Stream& stream, void* all, const Values& mine) = 0;
  /// all[r * elements ...] = `mine` of rank r. `mine` may alias its block of `all`.
  virtual void all_gather(Stream& stream, const Values& mine, void* all) = 0;
  /// Copies the root's values to all ranks.
  virtual void broadcast(Stream& stream, const Values& values, int root) = 0;
  /// Like all_reduce, but only the root gets the sum; the values of other ranks are overwritten.
  virtual void reduce(Stream& stream, const Values& values, int root) = 0;
  /// Like all_gather, but only on the root; `all` may be null on other ranks.
  virtual void gather(Stream& stream, const Values& mine, void* all, int root) = 0;
  /// received = `mine` of rank rank() - distance, modulo world_size(); as many bytes as `mine`.
  virtual void shift(Stream& stream, const Values& mine, void* received, int distance) = 0;
  virtual void send(Stream& stream, const Values& values, int to) = 0;
  virtual void receive(Stream& stream, const Values& values, int from) = 0;
  /// Work enqueued later starts when every rank's stream has reached the barrier.
  virtual void barrier(Stream& stream) = 0;
  virtual Traffic traffic() const = 0;
  /// Fails every pending and later operation of all ranks that can be reached. Thread-safe.
  virtual void abort(const Error& reason) = 0;
};

} // namespace troupe::collectives
