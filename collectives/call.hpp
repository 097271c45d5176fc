/// One call of a communicator as a value, which backends pass on, compare, count and name.
#pragma once

#include "core/graph/tensor.hpp"

#include <cstddef>
#include <cstdint>
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

/// Values in memory of the stream's device.
struct Values {
  void* data = nullptr;
  std::size_t elements = 0;
  DType type = DType::f32;

  std::size_t bytes() const { return elements * size_of(type); }
};

/// A rank and the size of its group.
struct Place {
  int rank = 0, world_size = 1;

  int wrap(int rank_) const { return (rank_ % world_size + world_size) % world_size; }
  /// The rank at this distance in the ring.
  int at(int distance) const { return wrap(rank + distance); }
};

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

/// Returns the bytes that a rank has to send at least for the call (Communicator::traffic).
std::uint64_t bytes_sent(const Call& call, int rank, int world_size);

} // namespace troupe::collectives
