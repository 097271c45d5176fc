/// A checkpoint as one row of bytes that travels between daemons in pieces: each is a small
/// message, so that over a slow connection signs of life pass in between.
#pragma once

#include "troupe/core/checkpoint/checkpoint.hpp"
#include "troupe/core/error.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::actors {

/// With what CAF puts before it, less than 64 KiB.
constexpr std::int64_t checkpoint_piece_bytes = 60 << 10;

class CheckpointPieces {
public:
  explicit CheckpointPieces(std::shared_ptr<const Checkpoint> checkpoint);

  std::int64_t bytes() const { return bytes_; }
  /// From there on, at most checkpoint_piece_bytes; fewer at the end alone. Precondition: 0 <=
  /// offset < bytes().
  std::string piece(std::int64_t offset) const;

private:
  struct Part {
    std::int64_t begin = 0;
    std::span<const std::byte> bytes;
  };
  void append(std::span<const std::byte> bytes);

  std::shared_ptr<const Checkpoint> checkpoint_;
  std::string description_;
  std::vector<Part> parts_; ///< without holes
  std::int64_t bytes_ = 0;
};

/// From all its bytes, which it keeps. Error: corrupt.
Result<Checkpoint> join_pieces(std::shared_ptr<const std::byte[]> bytes, std::int64_t size);

} // namespace troupe::actors
