/// Embeddings: rows of a table, selected by id or by position. Everything is f32 except ids. Sums
/// have a fixed order, so gradients are bitwise repeatable.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace troupe::gpu {

struct EmbeddingShape {
  std::int64_t rows = 0, columns = 0, table_rows = 0;

  /// Rows of an id that are added one after the other. The rows of an id with more are added in 16
  /// pieces of all rows, and then the pieces.
  static constexpr int short_list = 64;
  /// Ids that may have more rows than that.
  std::int64_t most_frequent_ids() const { return rows / (short_list + 1); }

  /// Size of launch_embedding_backward's `links`.
  std::size_t link_bytes() const {
    return static_cast<std::size_t>(rows + table_rows + most_frequent_ids() + 1) *
           sizeof(std::int32_t);
  }
};

/// y (rows, columns): row n is the table's row ids[n]. An id outside the table gives NaNs.
void launch_embedding(cudaStream_t stream, const EmbeddingShape& shape, const std::int32_t* ids,
                      const float* table, float* y);
/// dtable (table_rows, columns): adds rows of dy to the row of their id, in an order that depends
/// only on the ids (EmbeddingShape::short_list). Skips ids outside the table. `links` is scratch
/// memory. One fill and three launches; two launches for at most EmbeddingShape::short_list rows.
void launch_embedding_backward(cudaStream_t stream, const EmbeddingShape& shape,
                               const std::int32_t* ids, const float* dy, std::int32_t* links,
                               float* dtable);

/// Sequences are contiguous, and each has `elements` contiguous elements.
struct PositionShape {
  std::size_t elements = 0; ///< per sequence
  std::size_t sequences = 0;
  std::size_t table_elements = 0; ///< at least `elements`
  std::size_t columns = 0;
};
/// y = x + table for each sequence, beginning at the table's row `first` (in device memory; null:
/// 0). A row outside the table gives NaNs. y may be x.
void launch_position_embedding(cudaStream_t stream, const PositionShape& shape, const float* x,
                               const float* table, const std::int32_t* first, float* y);
/// dtable is the sum of dy over sequences; rows past the sequence length are 0.
void launch_position_embedding_backward(cudaStream_t stream, const PositionShape& shape,
                                        const float* dy, float* dtable);

} // namespace troupe::gpu
