#include "gpu/kernels/detail/rows.cuh"
#include "gpu/kernels/embedding.hpp"

#include <algorithm>

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
/// Then the ids with long lists, in any order, and one less than their number. All begin as -1.
struct Links {
  std::int32_t *next, *first, *frequent;
  std::uint32_t* last_frequent;

  Links(const EmbeddingShape& shape, std::int32_t* memory)
      : next{memory}, first{next + shape.rows}, frequent{first + shape.table_rows},
        last_frequent{reinterpret_cast<std::uint32_t*>(frequent + shape.most_frequent_ids())} {}

  __device__ void add_frequent(std::int32_t id) const {
    constexpr auto most = 0xffffffffu; // after which the number begins again at 0
    frequent[atomicInc(last_frequent, most) + 1] = id;
  }
  __device__ unsigned frequent_count() const { return *last_frequent + 1; }
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

/// Adds the rows of ids with at most EmbeddingShape::short_list rows, and leaves the others to
/// frequent_kernel: the next row of a list is known only after the previous one, so a long list
/// would take longer than all others together.
struct EmbeddingBackward {
  EmbeddingShape shape;
  const float* dy;
  Links links;
  float* dtable;

  template <int Width>
  __device__ void run(std::size_t at) const {
    const auto id = static_cast<std::int32_t>(at / shape.columns);
    const auto column = at % shape.columns;
    float sums[Width] = {}, values[Width];
    std::int64_t row = links.first[id];
    for (int n = 0; row >= 0 && n < EmbeddingShape::short_list; ++n, row = links.next[row]) {
      load_floats(dy + row * shape.columns + column, values);
#pragma unroll
      for (int i = 0; i < Width; ++i)
        sums[i] += values[i];
    }
    if (row < 0)
      store_floats(dtable + at, sums);
    else if (column == 0)
      links.add_frequent(id);
  }
};

/// A block adds the rows of a frequent id in 64 columns or, for single elements, 16. Each of
/// `frequent_pieces` groups of `frequent_lanes` threads reads the ids of a piece of the rows, and
/// adds those rows in their order; then the pieces' sums are added in order.
constexpr int frequent_pieces = 16, frequent_lanes = 16;
static_assert(frequent_pieces * frequent_lanes == each_threads);

/// Returns which of the `frequent_lanes` rows from `first` on have the id, as bits.
__device__ inline unsigned rows_with(const std::int32_t* ids, std::int32_t id, std::int64_t first,
                                     std::int64_t end, int lane) {
  const auto row = first + lane;
  unsigned rows = row < end && ids[row] == id ? 1u << lane : 0u;
#pragma unroll
  for (int offset = frequent_lanes / 2; offset > 0; offset /= 2)
    rows |= __shfl_xor_sync(all_lanes, rows, offset);
  return rows;
}

template <int Width>
__device__ void add_piece(const EmbeddingShape& shape, const std::int32_t* ids, std::int32_t id,
                          const float* dy, std::int64_t column, float (&sums)[Width]) {
  const int lane = threadIdx.x % frequent_lanes, piece = threadIdx.x / frequent_lanes;
  // All pieces have the same length, because the lanes of a warp exchange bits.
  const std::int64_t length = (shape.rows + frequent_pieces - 1) / frequent_pieces;
  const auto begin = piece * length, end = std::min(begin + length, shape.rows);
#pragma unroll 2
  for (auto first = begin; first < begin + length; first += frequent_lanes) {
    const unsigned rows = rows_with(ids, id, first, end, lane);
    if (rows == 0 || column >= shape.columns)
      continue;
#pragma unroll 4
    for (int n = 0; n < frequent_lanes; ++n) {
      float values[Width] = {};
      if (rows >> n & 1)
        load_floats(dy + (first + n) * shape.columns + column, values);
#pragma unroll
      for (int i = 0; i < Width; ++i)
        sums[i] += values[i];
    }
  }
}

template <int Width>
__global__ void __launch_bounds__(each_threads)
    frequent_kernel(EmbeddingShape shape, const std::int32_t* ids, const float* dy, Links links,
                    float* dtable) {
  __shared__ float pieces[frequent_pieces][frequent_lanes * Width];
  const int lane = threadIdx.x % frequent_lanes;
  const auto first_column = static_cast<std::int64_t>(blockIdx.x) * frequent_lanes * Width;
  const auto count = links.frequent_count();
  for (auto n = blockIdx.y; n < count; n += gridDim.y) {
    const std::int32_t id = links.frequent[n];
    float sums[Width] = {};
    add_piece(shape, ids, id, dy, first_column + lane * Width, sums);
    __syncthreads(); // the sums of the previous id must have been read
#pragma unroll
    for (int i = 0; i < Width; ++i)
      pieces[threadIdx.x / frequent_lanes][lane * Width + i] = sums[i];
    __syncthreads();
    const auto column = first_column + threadIdx.x;
    if (threadIdx.x < frequent_lanes * Width && column < shape.columns) {
      float total = 0;
      for (int piece = 0; piece < frequent_pieces; ++piece)
        total += pieces[piece][threadIdx.x];
      dtable[id * shape.columns + column] = total;
    }
  }
}

/// Launches enough blocks to fill a device: the number of frequent ids is known only there.
template <int Width>
void launch_frequent(cudaStream_t stream, const EmbeddingShape& shape, const std::int32_t* ids,
                     const float* dy, const Links& links, float* dtable) {
  const auto groups = (shape.columns + frequent_lanes * Width - 1) / (frequent_lanes * Width);
  const auto ids_at_once = std::clamp<std::int64_t>(shape.most_frequent_ids(), 1,
                                                    std::max<std::int64_t>(1, 1024 / groups));
  const dim3 blocks(static_cast<unsigned>(groups), static_cast<unsigned>(ids_at_once));
  frequent_kernel<Width><<<blocks, each_threads, 0, stream>>>(shape, ids, dy, links, dtable);
}

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
  const bool packs = are_packs<float>(shape.columns, dy, dtable);
  launch_each<width>(stream, EmbeddingBackward{shape, dy, links, dtable},
                     static_cast<std::size_t>(shape.table_rows * shape.columns), packs);
  if (shape.most_frequent_ids() == 0)
    return;
  if (packs)
    launch_frequent<width>(stream, shape, ids, dy, links, dtable);
  else
    launch_frequent<1>(stream, shape, ids, dy, links, dtable);
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
