/// Where the elements of a tensor lie in memory that is not row-major: oneDNN's blocked formats
/// (OIhw16i16o), CUDA's filters (KRSC).
#pragma once

#include "core/error.hpp"
#include "core/graph/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// An index is divided by the sizes of its dimension's blocks, innermost block first; the
/// remainders are its place in the blocks, which lie contiguously, and what is left counts strides.
/// What blocks or strides leave out is padding.
struct BlockedLayout {
  struct Block {
    std::int64_t dimension = 0, size = 1;
    bool operator==(const Block&) const = default;
  };
  std::vector<std::int64_t> strides; ///< by dimension, in elements
  std::vector<Block> inner;          ///< outermost first

  bool operator==(const BlockedLayout&) const = default;

  /// Whether each element of `shape` has a place below `stored`.
  bool fits(const Shape& shape, std::size_t stored) const;
  /// From row-major `canonical` to `stored`, whose padding becomes zero, and back. The layout fits.
  void encode(const Shape& shape, std::span<const float> canonical, std::span<float> stored) const;
  void decode(const Shape& shape, std::span<const float> stored, std::span<float> canonical) const;
};

/// "147,1,21,3" or, with blocks, "288,18,6,2:1x16,0x16".
std::string to_string(const BlockedLayout& layout);
/// Errors: corrupt, without saying where the text stands.
Result<BlockedLayout> parse_layout(std::string_view text);

} // namespace troupe
