/// Collectives between the ranks of a group: one interface with several backends, chosen at run
/// time and passed as an object. One actor of a rank calls it: the SHARD MANAGER, or the WORKER for
/// the statistics of its batch norms (ADR 0011).
#pragma once

#include "collectives/call.hpp"
#include "core/device/device.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe::collectives {

/// Calls only enqueue. Every rank of the group must make the same calls in the same order; send and
/// receive come in pairs. If a rank dies, stalls beyond the timeout or makes a different call, the
/// stream fails with Errc::collective; the message names rank, peer, operation and sequence number.
/// Sums have the same bits on every rank and in every run. f16 and bf16 are summed in f32 and
/// rounded once if the backend can.
///
/// Numbers and counts the calls of one rank; a backend implements only enqueue() and abort().
class Communicator {
public:
  Communicator(int rank, int world_size)
      : rank_{rank}, world_size_{world_size}, sent_(static_cast<std::size_t>(world_size)),
        received_(static_cast<std::size_t>(world_size)) {}
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int world_size() const { return world_size_; }
  /// values[i] = sum over ranks.
  void all_reduce(Stream& stream, const Values& values) {
    run(stream, {.kind = CallKind::all_reduce, .values = values});
  }
  /// `mine` (elements) = sum over ranks of their all[rank() * elements ...]. `all` holds
  /// world_size() * elements and is overwritten. `mine` may alias its block of `all`.
  void reduce_scatter(Stream& stream, void* all, const Values& mine) {
    run(stream, {.kind = CallKind::reduce_scatter, .values = mine, .all = all});
  }
  /// all[r * elements ...] = `mine` of rank r. `mine` may alias its block of `all`.
  void all_gather(Stream& stream, const Values& mine, void* all) {
    run(stream, {.kind = CallKind::all_gather, .values = mine, .all = all});
  }
  /// Copies the root's values to all ranks.
  void broadcast(Stream& stream, const Values& values, int root) {
    run(stream, {.kind = CallKind::broadcast, .values = values, .peer = root});
  }
  /// Like all_reduce, but only the root gets the sum; the values of other ranks are overwritten.
  void reduce(Stream& stream, const Values& values, int root) {
    run(stream, {.kind = CallKind::reduce, .values = values, .peer = root});
  }
  /// Like all_gather, but only on the root; `all` may be null on other ranks.
  void gather(Stream& stream, const Values& mine, void* all, int root) {
    run(stream, {.kind = CallKind::gather, .values = mine, .all = all, .peer = root});
  }
  /// received = `mine` of rank rank() - distance, modulo world_size(); as many bytes as `mine`.
  void shift(Stream& stream, const Values& mine, void* received, int distance) {
    run(stream, {.kind = CallKind::shift, .values = mine, .all = received, .peer = distance});
  }
  void send(Stream& stream, const Values& values, int to) {
    run(stream, {.kind = CallKind::send, .values = values, .peer = to});
  }
  void receive(Stream& stream, const Values& values, int from) {
    run(stream, {.kind = CallKind::receive, .values = values, .peer = from});
  }
  /// Work enqueued later starts when every rank's stream has reached the barrier.
  void barrier(Stream& stream) { run(stream, {.kind = CallKind::barrier}); }
  /// Makes any of these calls; gives it its number.
  void run(Stream& stream, Call call);
  /// Bytes sent by this rank so far, counted as the minimum for each operation: 2 S (N-1)/N for an
  /// all-reduce of S bytes, S (N-1)/N for an all-gather or reduce-scatter of S bytes in all.
  std::uint64_t traffic() const { return traffic_; }
  /// Fails every pending and later operation of all ranks that can be reached. Thread-safe.
  virtual void abort(const Error& reason) = 0;

private:
  virtual void enqueue(Stream& stream, const Call& call) = 0;

  int rank_, world_size_;
  std::int64_t sequence_ = 0;
  std::vector<std::int64_t> sent_, received_; ///< pairwise calls so far, by peer
  std::uint64_t traffic_ = 0;
};

/// Returns a group of one rank, on any device: gathered values are copies of the rank's values.
/// Takes streams of the device. Only a copy can fail. abort() has no effect.
std::unique_ptr<Communicator> make_single_rank_communicator(std::shared_ptr<Device> device);

} // namespace troupe::collectives
