/// Division of the rows of a linear_cross_entropy into chunks, so that few logits exist at a time.
#pragma once

#include "cpu/onednn/detail/matrix_product.hpp"
#include "cpu/onednn/detail/step.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace troupe::cpu {

/// Rows of `width` values (C) and `classes` logits (V) each.
struct LogitShape {
  std::int64_t rows, width, classes;

  /// Rows of a chunk: at least 16, else as many as have logits of at most 128 MiB. The whole weight
  /// and its gradient are read again for each chunk.
  std::int64_t chunk() const {
    constexpr std::int64_t logits = 32 << 20;
    return std::min(rows, std::max<std::int64_t>(logits / classes, 16));
  }
  static std::size_t bytes(std::int64_t rows_, std::int64_t columns) {
    return aligned(static_cast<std::size_t>(rows_ * columns) * sizeof(float));
  }
};

/// The products of a chunk of `rows` rows.
struct ChunkProducts {
  std::int64_t rows;
  MatrixProduct logits;                       ///< x * weight^T
  std::optional<MatrixProduct> data, weights; ///< dlogits * weight; and += dlogits^T * x

  /// `type`: type of the operands. If it is narrower than f32, gradients of logits are stored in
  /// the first halves of the f32 rows.
  ChunkProducts(const Library& library, const LogitShape& s, std::int64_t count, DType type,
                bool backward)
      : rows{count}, logits{library,
                            {count, s.width, false, type},
                            {s.width, s.classes, true, type},
                            {count, s.classes}} {
    if (!backward)
      return;
    const auto distance = s.classes * static_cast<std::int64_t>(sizeof(float) / size_of(type));
    const Matrix x{count, s.width, false, type};
    data.emplace(library, Matrix{count, s.classes, false, type, distance},
                 Matrix{s.classes, s.width, false, type}, x);
    weights.emplace(library, Matrix{s.classes, count, true, type, distance}, x,
                    Matrix{s.classes, s.width}, ProductTeam::together,
                    ProductEnd{.accumulate = true});
  }

  std::size_t scratchpad_bytes() const {
    std::size_t most = logits.scratchpad_bytes();
    for (const auto* one : {&data, &weights})
      if (*one)
        most = std::max(most, (*one)->scratchpad_bytes());
    return aligned(most);
  }
};

} // namespace troupe::cpu
