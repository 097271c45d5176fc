#include "gpu/kernels/attention.hpp"
#include "gpu/kernels/detail/attention_tiles.cuh"
#include "gpu/kernels/detail/rows.cuh"

namespace troupe::gpu {

namespace {

/// A block handles a tile of queries and iterates over the keys that they attend to. Running sums
/// are rescaled when a larger score appears.
template <int Dim, class T>
__global__ void __launch_bounds__(tile_threads, 4) attention_kernel(AttentionShape s, Attention a) {
  constexpr int queries = 4096 / Dim, keys = queries / 2;
  constexpr int rows = queries / tile_side;
  __shared__ Tile<queries, Dim> q;
  __shared__ Tile<keys, Dim> k;
  __shared__ Tile<keys, Dim> v;
  __shared__ Tile<queries, keys> p;
  const Heads<T> heads{s, blockIdx.z, blockIdx.y, blockIdx.y / heads_per_kv(s)};
  const int first = (gridDim.x - 1 - blockIdx.x) * queries; // start the longest first
  const int end = std::min(first + queries, heads.sequence);
  q.load(heads.q(a.q), first, heads, heads.scale);
  float y[rows][Dim / tile_side] = {}, most[rows], sums[rows] = {};
  for (float& value : most)
    value = -1e30f;
  for (int key = 0; key < end; key += keys) {
    __syncthreads(); // the previous tiles must have been read
    k.load(heads.kv(a.k), key, heads);
    v.load(heads.kv(a.v), key, heads);
    __syncthreads();
    float scores[rows][keys / tile_side] = {};
    add_products(scores, heads.columns, q.rows(), k.turned());
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const float before = most[i];
#pragma unroll
      for (int j = 0; j < keys / tile_side; ++j) {
        if (key + column_of(j) > first + row_of(i))
          scores[i][j] = -INFINITY;
        most[i] = fmaxf(most[i], scores[i][j]);
      }
      most[i] = warp_max<tile_side>(most[i]);
      float sum = 0;
#pragma unroll
      for (int j = 0; j < keys / tile_side; ++j) {
        const float e = expf(scores[i][j] - most[i]);
        p.values[row_of(i)][column_of(j)] = e;
        sum += e;
      }
      const float factor = expf(before - most[i]);
      sums[i] = sums[i] * factor + warp_sum<tile_side>(sum);
#pragma unroll
      for (float& value : y[i])
        value *= factor;
    }
    __syncthreads();
    add_products(y, keys, p.rows(), v.rows());
  }
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    const int query = first + row_of(i);
    if (query < heads.sequence && column_of(0) == 0)
      a.log_sum_exp[heads.by_head(query)] = most[i] + logf(sums[i]);
    store_row(heads.y(a.y), query, heads, y[i], 1 / sums[i]);
  }
}

/// Sums dy * y for each row and head.
template <int Width, class T>
__global__ void __launch_bounds__(each_threads)
    means_kernel(AttentionBackward a, std::int64_t rows, int columns) {
  for_rows(rows, [&](std::size_t row, int lane) {
    const float sum = sum_of_row<Width>(columns, lane, [&](int c, float& to) {
      float d[Width], y[Width];
      load_floats(static_cast<const T*>(a.dy) + row * columns + c, d);
      load_floats(static_cast<const T*>(a.y) + row * columns + c, y);
#pragma unroll
      for (int i = 0; i < Width; ++i)
        to = fmaf(d[i], y[i], to);
    });
    if (lane == 0)
      a.means[row] = sum;
  });
}

/// Tiles of the backward pass: q, scaled, and dy of some queries; k and v of some keys.
template <int Dim>
struct BackwardTiles {
  static constexpr int side = 2048 / Dim, part = side / tile_side;

  Tile<side, Dim> q, dy, k, v;

  template <class T>
  __device__ void load_queries(const AttentionBackward& a, const Heads<T>& heads, int first) {
    q.load(heads.q(a.q), first, heads, heads.scale);
    dy.load(heads.y(a.dy), first, heads);
  }
  template <class T>
  __device__ void load_keys(const AttentionBackward& a, const Heads<T>& heads, int first) {
    k.load(heads.kv(a.k), first, heads);
    v.load(heads.kv(a.v), first, heads);
  }

  /// Calls each(row, column, p, ds) for this thread's pairs of a query and a key. p is the
  /// probability, and ds the gradient of the score: p * (dy * v^T - mean).
  template <class T, class Each>
  __device__ void for_scores(const AttentionBackward& a, const Heads<T>& heads, int query, int key,
                             Each each) const {
    float scores[part][part] = {}, gradients[part][part] = {};
    add_products(scores, heads.columns, q.rows(), k.turned());
    add_products(gradients, heads.columns, dy.rows(), v.turned());
#pragma unroll
    for (int i = 0; i < part; ++i) {
      const int row = query + row_of(i);
      const bool inside = row < heads.sequence;
      const float total = inside ? a.log_sum_exp[heads.by_head(row)] : 0;
      const float mean = inside ? a.means[heads.by_row(row)] : 0;
#pragma unroll
      for (int j = 0; j < part; ++j) {
        const bool seen = inside && key + column_of(j) <= row;
        const float p = seen ? expf(scores[i][j] - total) : 0;
        each(row_of(i), column_of(j), p, p * (gradients[i][j] - mean));
      }
    }
  }
};

/// A block handles a tile of queries.
template <int Dim, class T>
__global__ void __launch_bounds__(tile_threads)
    query_gradient_kernel(AttentionShape s, AttentionBackward a) {
  using Tiles = BackwardTiles<Dim>;
  __shared__ Tiles tiles;
  __shared__ Tile<Tiles::side, Tiles::side> ds;
  const Heads<T> heads{s, blockIdx.z, blockIdx.y, blockIdx.y / heads_per_kv(s)};
  const int first = (gridDim.x - 1 - blockIdx.x) * Tiles::side; // start the longest first
  const int end = std::min(first + Tiles::side, heads.sequence);
  tiles.load_queries(a, heads, first);
  float dq[Tiles::part][Dim / tile_side] = {};
  for (int key = 0; key < end; key += Tiles::side) {
    __syncthreads(); // the previous tiles must have been read
    tiles.load_keys(a, heads, key);
    __syncthreads();
    tiles.for_scores(a, heads, first, key, [&](int row, int column, float, float gradient) {
      ds.values[row][column] = gradient;
    });
    __syncthreads();
    add_products(dq, Tiles::side, ds.rows(), tiles.k.rows());
  }
#pragma unroll
  for (int i = 0; i < Tiles::part; ++i)
    store_row(heads.q(a.dq), first + row_of(i), heads, dq[i], heads.scale);
}

/// A block handles a tile of keys and values, for all heads that share them.
template <int Dim, class T>
__global__ void __launch_bounds__(tile_threads, 5)
    key_gradient_kernel(AttentionShape s, AttentionBackward a) {
  using Tiles = BackwardTiles<Dim>;
  __shared__ Tiles tiles;
  __shared__ Tile<Tiles::side, Tiles::side> p;
  __shared__ Tile<Tiles::side, Tiles::side> ds;
  const int shared = heads_per_kv(s), first = blockIdx.x * Tiles::side;
  float dk[Tiles::part][Dim / tile_side] = {}, dv[Tiles::part][Dim / tile_side] = {};
  for (int head = 0; head < shared; ++head) {
    const Heads<T> heads{s, blockIdx.z, blockIdx.y * shared + head, blockIdx.y};
    if (head == 0)
      tiles.load_keys(a, heads, first);
    for (int query = first; query < heads.sequence; query += Tiles::side) {
      __syncthreads(); // the previous tiles must have been read
      tiles.load_queries(a, heads, query);
      __syncthreads();
      tiles.for_scores(a, heads, query, first,
                       [&](int row, int column, float probability, float gradient) {
                         p.values[row][column] = probability;
                         ds.values[row][column] = gradient;
                       });
      __syncthreads();
      add_products(dv, Tiles::side, p.turned(), tiles.dy.rows());
      add_products(dk, Tiles::side, ds.turned(), tiles.q.rows());
    }
  }
  const Heads<T> heads{s, blockIdx.z, blockIdx.y * shared, blockIdx.y};
#pragma unroll
  for (int i = 0; i < Tiles::part; ++i) {
    store_row(heads.kv(a.dk), first + row_of(i), heads, dk[i], 1);
    store_row(heads.kv(a.dv), first + row_of(i), heads, dv[i], 1);
  }
}

/// Grid: tiles of a sequence, heads, sequences.
dim3 blocks_for(const AttentionShape& s, std::int64_t tile, std::int64_t heads) {
  return {static_cast<unsigned>((s.attributes.sequence + tile - 1) / tile),
          static_cast<unsigned>(heads), static_cast<unsigned>(s.sequences)};
}

/// Calls fn(dim, element) with the head size, rounded up to 64 or 128, and a value of the type.
template <class Fn>
void with_dim_and_type(const AttentionShape& shape, Fn fn) {
  with_type(shape.dtype, [&](auto type) {
    if (shape.attributes.head_dim <= 64)
      fn(std::integral_constant<int, 64>{}, type);
    else
      fn(std::integral_constant<int, 128>{}, type);
  });
}

} // namespace

void launch_causal_attention(cudaStream_t stream, const AttentionShape& shape, const Attention& a) {
  with_dim_and_type(shape, [&](auto dim, auto type) {
    constexpr int size = decltype(dim)::value;
    attention_kernel<size, decltype(type)>
        <<<blocks_for(shape, 4096 / size, shape.attributes.heads), tile_threads, 0, stream>>>(shape,
                                                                                              a);
  });
}

void launch_causal_attention_backward(cudaStream_t stream, const AttentionShape& shape,
                                      const AttentionBackward& a) {
  const auto& attributes = shape.attributes;
  const auto rows = shape.rows() * attributes.heads;
  with_width_and_type(
      shape.dtype, attributes.head_dim,
      [&](auto width, auto type) {
        constexpr auto kernel = means_kernel<decltype(width)::value, decltype(type)>;
        kernel<<<blocks_for_rows<kernel>(rows), each_threads, 0, stream>>>(
            a, rows, static_cast<int>(attributes.head_dim));
      },
      a.dy, a.y);
  with_dim_and_type(shape, [&](auto dim, auto type) {
    using T = decltype(type);
    constexpr int size = decltype(dim)::value, side = BackwardTiles<size>::side;
    query_gradient_kernel<size, T>
        <<<blocks_for(shape, side, attributes.heads), tile_threads, 0, stream>>>(shape, a);
    key_gradient_kernel<size, T>
        <<<blocks_for(shape, side, attributes.kv_heads), tile_threads, 0, stream>>>(shape, a);
  });
}

} // namespace troupe::gpu
