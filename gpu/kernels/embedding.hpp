/// Rows of tables, by what a row is or by where it stands. Everything is f32 but ids. Sums are in a
/// fixed order: gradients are the same bit by bit from run to run.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace troupe::gpu {

struct EmbeddingShape {
  std::int64_t rows = 0, columns = 0, table_rows = 0;

  /// Of launch_embedding_backward's `links`.
  std::size_t link_bytes() const {
    return static_cast<std::size_t>(rows + table_rows) * sizeof(std::int32_t);
  }
};

/// y (rows, columns): row n is the table's row ids[n]. An id that the table has no row of gives
/// NaNs.
void launch_embedding(cudaStream_t stream, const EmbeddingShape& shape, const std::int32_t* ids,
                      const float* table, float* y);
/// dtable (table_rows, columns): rows of dy are added to that of their id, in their order; ids that
/// the table has no row of are passed over. `links` is memory to work in. A fill and two launches.
void launch_embedding_backward(cudaStream_t stream, const EmbeddingShape& shape,
                               const std::int32_t* ids, const float* dy, std::int32_t* links,
                               float* dtable);

/// A sequence's `elements` follow each other, and so do sequences.
struct PositionShape {
  std::size_t elements = 0; ///< of a sequence
  std::size_t sequences = 0;
  std::size_t table_elements = 0; ///< at least as many as of a sequence
  std::size_t columns = 0;
};
/// y = x + table, sequence by sequence, from the table's row `first` on (in device memory; null:
/// 0). A row that the table does not have gives NaNs. y may be x.
void launch_position_embedding(cudaStream_t stream, const PositionShape& shape, const float* x,
                               const float* table, const std::int32_t* first, float* y);
/// dtable: dy's sequences are added up; 0 behind their length.
void launch_position_embedding_backward(cudaStream_t stream, const PositionShape& shape,
                                        const float* dy, float* dtable);

} // namespace troupe::gpu
