/// Communicators of workers on GPUs.
#pragma once

#include "../replica.hpp"

#include "troupe/collectives/gloo/store.hpp"
#include "troupe/collectives/nccl/nccl_communicator.hpp"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::engine {

using Communicators = std::vector<std::unique_ptr<collectives::Communicator>>;

/// Where a group of ranks meets.
struct GpuGroup {
  std::string name; ///< differs for every group of a generation
  int world_size = 1;
  std::shared_ptr<collectives::KeyValueStore> store; ///< null: all ranks are in this process
  std::chrono::milliseconds collective, connect;     ///< timeouts
  /// Its calls have no order among those of other groups, which NCCL asks for (ADR 0011).
  bool apart = false;
};

class GpuGroups {
public:
  /// Of ranks of this process by NCCL, or through the memory of the GPUs where two ranks are on
  /// one, which NCCL refuses. In the order of `replicas`. Errors: unsupported, collective.
  Result<Communicators> share(std::span<Replica* const> replicas, const GpuGroup& group);
  /// By NCCL, with ranks of other processes; `ranks` are those of `replicas` in the group. Blocks
  /// until all are connected. Errors: unsupported (two ranks on one GPU), collective, network.
  Result<Communicators> connect(std::span<Replica* const> replicas, std::span<const int> ranks,
                                const GpuGroup& group);

private:
  Result<std::shared_ptr<collectives::NcclOwner>> owner(const Replica& replica);
  Result<collectives::NcclId> agree_on_id(const collectives::NcclLibrary& library, bool first,
                                          const GpuGroup& group);

  std::map<int, std::shared_ptr<collectives::NcclOwner>> owners_; ///< by GPU
};

} // namespace troupe::engine
