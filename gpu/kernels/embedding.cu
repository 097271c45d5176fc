#include "gpu/kernels/detail/rows.cuh"
#include "gpu/kernels/embedding.hpp"

namespace troupe::gpu {

namespace {

struct Embedding {
  EmbeddingShape shape;
  const std::int32_t* ids;
  const float* table;
  float* y;

  template <int Width>
  __device__ void run(std::size_t at) const {
    const std::int64_t id = ids[at / shape.columns];
    float values[Width];
    if (id >= 0 && id < shape.table_rows)
      load_floats(table + id * shape.columns + at % shape.columns, values);
    else
#pragma unroll
      for (int i = 0; i < Width; ++i)
        values[i] = NAN;
    store_floats(y + at, values);
  }
};

/// Linked lists of rows with the same id: each row's next row, and each id's first row. -1: none.
struct Links {
  std::int32_t *next, *first;

  Links(const EmbeddingShape& shape, std::int32_t* memory)
      : next{memory}, first{memory + shape.rows} {}
};

/// Each row searches backwards for the previous row with its id, 32 rows at a time; for most rows
/// that row is near.
__global__ void __launch_bounds__(each_threads)
    link_kernel(EmbeddingShape shape, const std::int32_t* ids, Links links) {
  for_rows(shape.rows, [&](std::size_t row, int lane) {
    const std::int32_t id = ids[row];
    if (id < 0 || id >= shape.table_rows)
      return;
    std::int64_t found = -1;
    for (auto end = static_cast<std::int64_t>(row); found < 0 && end > 0; end -= 32) {
      const std::int64_t at = end - 1 - lane;
      // The lowest lane that finds one has the nearest row.
      const auto suggestion = warp_max(at >= 0 && ids[at] == id ? 32u - lane : 0u);
      if (suggestion > 0)
        found = end - 1 - (32 - suggestion);
    }
    if (lane == 0)
      (found < 0 ? links.first[id] : links.next[found]) = static_cast<std::int32_t>(row);
  });
}

struct EmbeddingBackward {
  EmbeddingShape shape;
  const float* dy;
  Links links;
  float* dtable;

  template <int Width>
  __device__ void run(std::size_t at) const {
    float sums[Width] = {}, values[Width];
    for (std::int64_t row = links.first[at / shape.columns]; row >= 0; row = links.next[row]) {
      load_floats(dy + row * shape.columns + at % shape.columns, values);
#pragma unroll
      for (int i = 0; i < Width; ++i)
        sums[i] += values[i];
    }
    store_floats(dtable + at, sums);
  }
};

struct PositionEmbedding {
  PositionShape shape;
  const float *x, *table;
  const std::int32_t* first;
  float* y;

  template <int Width>
  __device__ void run(std::size_t at) const {
    const auto rows = static_cast<std::int64_t>(first ? *first : 0);
    const auto place = rows * static_cast<std::int64_t>(shape.columns) +
                       static_cast<std::int64_t>(at % shape.elements);
    const bool there = rows >= 0 && place < static_cast<std::int64_t>(shape.table_elements);
    float values[Width], places[Width];
    load_floats(x + at, values);
    if (there)
      load_floats(table + place, places);
#pragma unroll
    for (int i = 0; i < Width; ++i)
      values[i] = there ? values[i] + places[i] : NAN;
    store_floats(y + at, values);
  }
};

struct PositionEmbeddingBackward {
  PositionShape shape;
  const float* dy;
  float* dtable;

  template <int Width>
  __device__ void run(std::size_t at) const {
    float sums[Width] = {}, values[Width];
    for (std::size_t s = 0; at < shape.elements && s < shape.sequences; ++s) {
      load_floats(dy + s * shape.elements + at, values);
#pragma unroll
      for (int i = 0; i < Width; ++i)
        sums[i] += values[i];
    }
    store_floats(dtable + at, sums);
  }
};

constexpr int width = pack_width<float>;

} // namespace

void launch_embedding(cudaStream_t stream, const EmbeddingShape& shape, const std::int32_t* ids,
                      const float* table, float* y) {
  launch_each<width>(stream, Embedding{shape, ids, table, y},
                     static_cast<std::size_t>(shape.rows * shape.columns),
                     are_packs<float>(shape.columns, table, y));
}

void launch_embedding_backward(cudaStream_t stream, const EmbeddingShape& shape,
                               const std::int32_t* ids, const float* dy, std::int32_t* memory,
                               float* dtable) {
  const Links links{shape, memory};
  cudaMemsetAsync(memory, 0xff, shape.link_bytes(), stream);
  link_kernel<<<blocks_for_rows<link_kernel>(shape.rows), each_threads, 0, stream>>>(shape, ids,
                                                                                     links);
  launch_each<width>(stream, EmbeddingBackward{shape, dy, links, dtable},
                     static_cast<std::size_t>(shape.table_rows * shape.columns),
                     are_packs<float>(shape.columns, dy, dtable));
}

void launch_position_embedding(cudaStream_t stream, const PositionShape& shape, const float* x,
                               const float* table, const std::int32_t* first, float* y) {
  launch_each<width>(stream, PositionEmbedding{shape, x, table, first, y},
                     shape.elements * shape.sequences,
                     are_packs<float>(shape.columns, x, table, y));
}

void launch_position_embedding_backward(cudaStream_t stream, const PositionShape& shape,
                                        const float* dy, float* dtable) {
  launch_each<width>(stream, PositionEmbeddingBackward{shape, dy, dtable}, shape.table_elements,
                     are_packs<float>(shape.elements, dy, dtable));
}

} // namespace troupe::gpu
