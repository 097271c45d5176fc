/// What a rank brings to an operation, and gets of it. It may travel between processes as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nccl.h>
#include <vector>

namespace emulation::nccl {

using Bytes = std::vector<std::byte>;
using BytesPtr = std::shared_ptr<const Bytes>;

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
  std::size_t
      count; ///< as the function's argument: of the part, where results or sources are divided
  ncclDataType_t type;
  int peer = 0; ///< or root

  bool collective() const { return kind != Kind::send && kind != Kind::receive; }
  /// Whether another rank's operation is its part of the same.
  bool fits(const Operation& other) const {
    return count == other.count && type == other.type &&
           (collective() ? kind == other.kind && peer == other.peer : !other.collective());
  }
};

struct Contribution {
  Operation operation;
  Bytes data; ///< empty of a receive
};

std::size_t size_of(ncclDataType_t type);
/// What each rank gets of an operation of all, from what they brought, in rank order; empty for one
/// that gets nothing.
std::vector<BytesPtr> results_of(const std::vector<Contribution>& brought);

} // namespace emulation::nccl
