/// A checkpoint as one sequence of bytes, as it is sent between daemons.
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
  /// Without holes: what stands before the values, and those of each tensor.
  const std::vector<std::span<const std::byte>>& parts() const { return parts_; }

private:
  void append(std::span<const std::byte> bytes);

  std::shared_ptr<const Checkpoint> checkpoint_;
  std::string description_;
  std::vector<std::span<const std::byte>> parts_;
  std::int64_t bytes_ = 0;
};

/// From all its bytes, which it keeps. Error: corrupt.
Result<Checkpoint> join_chunks(std::shared_ptr<const std::byte[]> bytes, std::int64_t size);

} // namespace troupe::actors
