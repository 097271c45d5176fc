/// What a rank brings to an operation, and gets of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nccl.h>
#include <vector>

namespace emulation::nccl {

enum class Kind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  send,
  receive
};

struct Operation {
  Kind kind;
  const void* from; ///< null for a receive
  void* to;         ///< null for a send
  std::size_t
      count; ///< as the function's argument: of the part, where results or sources are divided
  ncclDataType_t type;
  int peer = 0; ///< or root

  bool collective() const { return kind != Kind::send && kind != Kind::receive; }
  /// Whether another rank's operation is its part of the same.
  bool fits(const Operation& other) const {
    return kind == other.kind && count == other.count && type == other.type && peer == other.peer;
  }
};

std::size_t size_of(ncclDataType_t type);
/// What the rank gets of an operation of all ranks, from what each brought, in rank order; empty
/// when it gets nothing.
std::vector<std::byte> result_of(const std::map<int, Operation>& came, int rank);

} // namespace emulation::nccl
