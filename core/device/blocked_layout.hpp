/// Memory layouts that are not row-major: oneDNN's blocked formats (OIhw16i16o), CUDA's filters
/// (KRSC).
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

/// To find an element, each index is divided by the sizes of its dimension's blocks, innermost
/// first. The remainders give the position inside the blocks, which are contiguous. The final
/// quotient is multiplied with the dimension's stride. Stored elements without an index are
/// padding.
struct BlockedLayout {
  struct Block {
    std::int64_t dimension = 0, size = 1;
    bool operator==(const Block&) const = default;
  };
  std::vector<std::int64_t> strides; ///< by dimension, in elements
  std::vector<Block> inner;          ///< outermost first

  bool operator==(const BlockedLayout&) const = default;

  /// Whether each element of `shape` has a position below `stored`.
  bool fits(const Shape& shape, std::size_t stored) const;
  /// Convert between row-major `canonical` and `stored`, whose padding becomes zero. Precondition:
  /// the layout fits.
  void encode(const Shape& shape, std::span<const float> canonical, std::span<float> stored) const;
  void decode(const Shape& shape, std::span<const float> stored, std::span<float> canonical) const;
};

/// Returns "147,1,21,3" or, with blocks, "288,18,6,2:1x16,0x16".
std::string to_string(const BlockedLayout& layout);
/// Errors: corrupt, without the location of the text.
Result<BlockedLayout> parse_layout(std::string_view text);

} // namespace troupe
