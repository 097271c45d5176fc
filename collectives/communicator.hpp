/// Collectives between the ranks of a group. One interface, backends beside each other, chosen at
/// run time and passed as an object. One actor of a rank calls it: the SHARD MANAGER, or the WORKER
/// for the statistics of its batch norms (ADR 0011).
#pragma once

#include "core/device/device.hpp"
#include "core/graph/tensor.hpp"

#include <cstdint>
#include <memory>

namespace troupe::collectives {

/// What a communicator has moved so far, for metrics.
struct Traffic {
  std::uint64_t operations = 0;
  /// Bytes that this rank has sent, counted as the least that each operation needs: 2 S (N-1)/N for
  /// an all-reduce of S bytes, S (N-1)/N for an all-gather or reduce-scatter of S bytes in all.
  std::uint64_t bytes = 0;
};

/// Values in memory of the device whose stream goes with them.
struct Values {
  void* data = nullptr;
  std::size_t elements = 0;
  DType type = DType::f32;

  std::size_t bytes() const { return elements * size_of(type); }
};

/// Calls only enqueue; every rank of the group must make the same calls in the same order (send and
/// receive: in pairs). A failure (another rank died, stalled beyond the timeout, or called
/// something else) fails the stream with Errc::collective; the message names rank, peer, operation
/// and sequence number. Sums are the same bits on every rank and every run; f16 and bf16 are summed
/// in f32 and rounded once where the backend can.
class Communicator {
public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  /// values[i] = sum over ranks.
  virtual void all_reduce(Stream& stream, const Values& values) = 0;
  /// `mine` (elements) = sum over ranks of their all[rank() * elements ...]; `all` holds
  /// world_size() * elements and is destroyed. `mine` may lie at its place in `all`.
  virtual void reduce_scatter(Stream& stream, void* all, const Values& mine) = 0;
  /// all[r * elements ...] = `mine` of rank r. `mine` may lie at its place in `all`.
  virtual void all_gather(Stream& stream, const Values& mine, void* all) = 0;
  /// The root's values are copied to all ranks.
  virtual void broadcast(Stream& stream, const Values& values, int root) = 0;
  /// As all_reduce, but the root alone gets the sum; the others' values are destroyed.
  virtual void reduce(Stream& stream, const Values& values, int root) = 0;
  /// As all_gather, for the root alone; `all` may be null elsewhere.
  virtual void gather(Stream& stream, const Values& mine, void* all, int root) = 0;
  /// received = `mine` of rank rank() - distance, round the ring; as many bytes.
  virtual void shift(Stream& stream, const Values& mine, void* received, int distance) = 0;
  virtual void send(Stream& stream, const Values& values, int to) = 0;
  virtual void receive(Stream& stream, const Values& values, int from) = 0;
  /// Work enqueued from now on starts when every rank's stream has come this far.
  virtual void barrier(Stream& stream) = 0;
  virtual Traffic traffic() const = 0;
  /// Fails every pending and later operation of all ranks that can be reached. Thread-safe.
  virtual void abort(const Error& reason) = 0;
};

} // namespace troupe::collectives
