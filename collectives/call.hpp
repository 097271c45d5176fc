/// One call of a communicator as a value, which backends pass on, compare, count and name.
#pragma once

#include "collectives/communicator.hpp"

#include <string>
#include <string_view>

namespace troupe::collectives {

enum class CallKind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  gather,
  shift,
  send,
  receive,
  barrier
};
std::string_view to_string(CallKind kind);

struct Call {
  CallKind kind = CallKind::barrier;
  /// Number of the collective in the group; for send and receive, the number of the call from one
  /// rank to the other.
  std::int64_t sequence = 0;
  Values values = {}; ///< as many on every rank
  /// Buffer of all ranks. reduce_scatter, all_gather and gather: world_size * values.elements;
  /// shift: values.elements, received.
  void* all = nullptr;
  int peer = -1; ///< the root; send and receive: the other rank; shift: the distance

  bool pairwise() const { return kind == CallKind::send || kind == CallKind::receive; }
  std::byte* data() const { return static_cast<std::byte*>(values.data); }
  /// Address of rank r's values in `all`.
  std::byte* part(int r) const {
    return static_cast<std::byte*>(all) + static_cast<std::size_t>(r) * values.bytes();
  }
  /// Returns for example "all_reduce #3" or "send #0 to rank 2".
  std::string name() const;
};

/// Returns the bytes that a rank has to send at least for the call (Traffic::bytes).
std::uint64_t bytes_sent(const Call& call, int rank, int world_size);

/// Numbers and counts the calls of one rank; a backend implements only enqueue().
class CallCommunicator : public Communicator {
public:
  CallCommunicator(int rank, int world_size)
      : rank_{rank}, world_size_{world_size}, sent_(static_cast<std::size_t>(world_size)),
        received_(static_cast<std::size_t>(world_size)) {}

  int rank() const final { return rank_; }
  int world_size() const final { return world_size_; }
  void all_reduce(Stream& stream, const Values& values) final;
  void reduce_scatter(Stream& stream, void* all, const Values& mine) final;
  void all_gather(Stream& stream, const Values& mine, void* all) final;
  void broadcast(Stream& stream, const Values& values, int root) final;
  void reduce(Stream& stream, const Values& values, int root) final;
  void gather(Stream& stream, const Values& mine, void* all, int root) final;
  void shift(Stream& stream, const Values& mine, void* received, int distance) final;
  void send(Stream& stream, const Values& values, int to) final;
  void receive(Stream& stream, const Values& values, int from) final;
  void barrier(Stream& stream) final;
  Traffic traffic() const final { return traffic_; }

private:
  virtual void enqueue(Stream& stream, const Call& call) = 0;
  void make(Stream& stream, Call call);

  int rank_, world_size_;
  std::int64_t sequence_ = 0;
  std::vector<std::int64_t> sent_, received_; ///< pairwise calls so far, by peer
  Traffic traffic_;
};

} // namespace troupe::collectives
