/// Part of a tensor as a rank stores it: the content of one file of a sharded checkpoint.
#pragma once

#include "core/device/blocked_layout.hpp"
#include "core/error.hpp"
#include "core/graph/tensor.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// A contiguous range of a tensor's values in stored order: row-major unless `layout` is set.
struct TensorPart {
  std::string name;
  Shape shape;                         ///< of the whole tensor
  std::size_t stored = 0;              ///< stored elements of the whole tensor, including padding
  std::size_t first = 0, elements = 0; ///< range within the stored elements
  std::optional<BlockedLayout> layout = {};

  /// Whether the part is a whole tensor in canonical layout.
  bool is_whole() const { return !layout && first == 0 && elements == stored; }
};

/// Describes a part for a file's metadata, where part_key(name) is the key: "64x3x7x7 0 of 9408
/// 147,1,21,3".
std::string to_string(const TensorPart& part);
std::string part_key(std::string_view name);
/// `elements`: how many elements the file has for the part. Errors: corrupt, without the location
/// of the text.
Result<TensorPart> parse_part(std::string_view name, std::string_view text, std::size_t elements);

} // namespace troupe
