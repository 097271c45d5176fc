/// Element types and static shapes.
#pragma once

#include "core/choice.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class DType : std::uint8_t {
  f32,
  bf16,
  f16,
  i32,
  u8,
  f64, ///< sums that ranks exchange; no op computes in it
};

/// The config's words for the types that training uses; to_string returns the words of files.
template <>
inline constexpr auto choice_words<DType> = word_list("fp32", "bf16", "fp16");

std::size_t size_of(DType dtype);
std::string_view to_string(DType dtype);

/// Sizes of a tensor's dimensions. Images are (N, H, W, C); convolution weights are (O, I, KH, KW),
/// as PyTorch names them; matmul weights are (out, in). A scalar has no dimensions.
struct Shape {
  std::vector<std::int64_t> dims;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) : dims(sizes) {}
  explicit Shape(std::vector<std::int64_t> sizes) : dims(std::move(sizes)) {}

  std::size_t rank() const { return dims.size(); }
  std::int64_t operator[](std::size_t i) const { return dims[i]; }
  std::int64_t elements() const {
    return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>{});
  }
  /// A dimension, and the number of elements, in the type of sizes in memory.
  std::size_t size(std::size_t i) const { return static_cast<std::size_t>(dims[i]); }
  std::size_t count() const { return static_cast<std::size_t>(elements()); }
  bool operator==(const Shape&) const = default;
  /// Returns "128x32x32x16"; "scalar" if there are no dimensions.
  std::string to_string() const;
};

} // namespace troupe
