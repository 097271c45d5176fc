/// A rank's contribution to an operation, and its result. Both can be sent between processes as
/// they are.
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
      count; ///< as the function's argument: of one shard when results or sources are sharded
  ncclDataType_t type;
  int peer = 0; ///< peer or root

  bool collective() const { return kind != Kind::send && kind != Kind::receive; }
  /// Whether another rank's operation belongs to the same collective or message.
  bool fits(const Operation& other) const {
    return count == other.count && type == other.type &&
           (collective() ? kind == other.kind && peer == other.peer : !other.collective());
  }
};

struct Contribution {
  Operation operation;
  Bytes data; ///< empty for a receive
};

std::size_t size_of(ncclDataType_t type);
/// Returns the result of each rank, in rank order, from all contributions; null for a rank without
/// a result.
std::vector<BytesPtr> results_of(const std::vector<Contribution>& brought);

} // namespace emulation::nccl
