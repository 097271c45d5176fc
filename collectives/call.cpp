#include "collectives/call.hpp"

#include <fmt/format.h>

#include <array>

namespace troupe::collectives {

std::string_view to_string(CallKind kind) {
  constexpr std::array<std::string_view, 10> names = {
      "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce",
      "gather",     "shift",          "send",       "receive",   "barrier"};
  static_assert(names.size() == static_cast<std::size_t>(CallKind::barrier) + 1);
  return names[static_cast<std::size_t>(kind)];
}

std::string Call::name() const {
  auto text = fmt::format("{} #{}", to_string(kind), sequence);
  if (pairwise())
    text += fmt::format(" {} rank {}", kind == CallKind::send ? "to" : "from", peer);
  return text;
}

std::uint64_t bytes_sent(const Call& call, int rank, int world_size) {
  const std::uint64_t bytes = call.values.bytes();
  const auto world = static_cast<std::uint64_t>(world_size);
  const bool root = call.peer == rank;
  switch (call.kind) {
  case CallKind::all_reduce:
    return 2 * bytes * (world - 1) / world;
  case CallKind::reduce_scatter:
  case CallKind::all_gather:
    return bytes * (world - 1);
  case CallKind::broadcast:
    return root && world > 1 ? bytes : 0;
  case CallKind::reduce:
  case CallKind::gather:
    return root ? 0 : bytes;
  case CallKind::shift:
    return call.peer % world_size == 0 ? 0 : bytes;
  case CallKind::send:
    return bytes;
  case CallKind::receive:
  case CallKind::barrier:
    return 0;
  }
  return 0;
}

void CallCommunicator::make(Stream& stream, Call call) {
  if (call.kind == CallKind::send)
    call.sequence = sent_[static_cast<std::size_t>(call.peer)]++;
  else if (call.kind == CallKind::receive)
    call.sequence = received_[static_cast<std::size_t>(call.peer)]++;
  else
    call.sequence = sequence_++;
  ++traffic_.operations;
  traffic_.bytes += bytes_sent(call, rank_, world_size_);
  enqueue(stream, call);
}

void CallCommunicator::all_reduce(Stream& stream, const Values& values) {
  make(stream, {.kind = CallKind::all_reduce, .values = values});
}

void CallCommunicator::reduce_scatter(Stream& stream, void* all, const Values& mine) {
  make(stream, {.kind = CallKind::reduce_scatter, .values = mine, .all = all});
}

void CallCommunicator::all_gather(Stream& stream, const Values& mine, void* all) {
  make(stream, {.kind = CallKind::all_gather, .values = mine, .all = all});
}

void CallCommunicator::broadcast(Stream& stream, const Values& values, int root) {
  make(stream, {.kind = CallKind::broadcast, .values = values, .peer = root});
}

void CallCommunicator::reduce(Stream& stream, const Values& values, int root) {
  make(stream, {.kind = CallKind::reduce, .values = values, .peer = root});
}

void CallCommunicator::gather(Stream& stream, const Values& mine, void* all, int root) {
  make(stream, {.kind = CallKind::gather, .values = mine, .all = all, .peer = root});
}

void CallCommunicator::shift(Stream& stream, const Values& mine, void* received, int distance) {
  make(stream, {.kind = CallKind::shift, .values = mine, .all = received, .peer = distance});
}

void CallCommunicator::send(Stream& stream, const Values& values, int to) {
  make(stream, {.kind = CallKind::send, .values = values, .peer = to});
}

void CallCommunicator::receive(Stream& stream, const Values& values, int from) {
  make(stream, {.kind = CallKind::receive, .values = values, .peer = from});
}

void CallCommunicator::barrier(Stream& stream) {
  make(stream, {.kind = CallKind::barrier});
}

} // namespace troupe::collectives
