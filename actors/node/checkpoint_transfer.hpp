/// Sends a state to nodes that lack it, over the data plane, in chunks with digests. Blocking
/// calls, for a dedicated thread.
#pragma once

#include "collectives/data_plane/connection_group.hpp"
#include "core/checkpoint/checkpoint.hpp"
#include "core/config/cluster.hpp"
#include "training/node_assignment.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::actors {

/// A checkpoint as one sequence of bytes, in the format that daemons send.
class CheckpointChunks {
public:
  explicit CheckpointChunks(std::shared_ptr<const Checkpoint> checkpoint);

  std::int64_t bytes() const { return bytes_; }
  /// The bytes, without gaps: the description, then the values of each tensor.
  const std::vector<std::span<const std::byte>>& parts() const { return parts_; }

private:
  void append(std::span<const std::byte> bytes);

  std::shared_ptr<const Checkpoint> checkpoint_;
  std::string description_;
  std::vector<std::span<const std::byte>> parts_;
  std::int64_t bytes_ = 0;
};

/// Returns the checkpoint in these bytes, which it keeps alive. Error: corrupt.
Result<Checkpoint> join_chunks(std::shared_ptr<const std::byte[]> bytes, std::int64_t size);

/// Sends the state from the generation's source to all nodes that lack it, in parallel. Returns
/// when all have it and know that all have it. Calls `arrived`, on any thread, when a node has it.
/// Error: network.
Status send_checkpoint(collectives::ConnectionGroup& connection_group,
                       const training::GenerationRecord& generation, const CheckpointChunks& chunks,
                       const TimeoutsConfig& timeouts, const std::function<void()>& arrived);

/// Receives the state on a node that lacks it. Returns when all nodes have it. `say` logs the
/// progress. Errors: network; corrupt.
Result<Checkpoint> fetch_checkpoint(collectives::ConnectionGroup& connection_group,
                                    const training::NodeAssignment& assignment,
                                    const TimeoutsConfig& timeouts,
                                    const std::function<void(const std::string&)>& say);

} // namespace troupe::actors
