/// Part of a tensor, as a rank stores it: what a file of a sharded checkpoint holds.
#pragma once

#include "core/device/blocked_layout.hpp"
#include "core/error.hpp"
#include "core/graph/tensor.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// Neighbouring values of a tensor as it is stored: row-major unless `layout` says otherwise.
struct TensorPart {
  std::string name;
  Shape shape;                         ///< of the whole tensor
  std::size_t stored = 0;              ///< elements that the whole tensor takes up, with padding
  std::size_t first = 0, elements = 0; ///< of these
  std::optional<BlockedLayout> layout = {};

  /// Whether it is all of a tensor in canonical layout.
  bool is_whole() const { return !layout && first == 0 && elements == stored; }
};

/// What a file's metadata say of a part, under part_key of its name: "64x3x7x7 0 of 9408
/// 147,1,21,3".
std::string to_string(const TensorPart& part);
std::string part_key(std::string_view name);
/// `elements` are those that the file has. Errors: corrupt, without saying where the text stands.
Result<TensorPart> parse_part(std::string_view name, std::string_view text, std::size_t elements);

} // namespace troupe
