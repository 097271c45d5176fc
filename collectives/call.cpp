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

} // namespace troupe::collectives
