/// A checkpoint as one sequence of bytes, in the format that daemons send.
#pragma once

#include "core/checkpoint/checkpoint.hpp"
#include "core/error.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::actors {

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

} // namespace troupe::actors
