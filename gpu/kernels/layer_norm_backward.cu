#include "gpu/kernels/detail/row_groups.cuh"
#include "gpu/kernels/layer_norm.hpp"

namespace troupe::gpu {

namespace {

/// Threads of a block, if a row needs no more; and threads that each of 132 multiprocessors can
/// have at once, if each has one pack.
constexpr int backward_threads = 384, resident_threads = 1024, multiprocessors_wanted = 132;

/// Adds up an array of each thread over the groups of a block. The first group writes the sums.
template <int Width, int Packs>
__device__ void write_sums(const RowGroups& groups, const float (&values)[Packs][Width],
                           float* sums) {
  __shared__ float others[Width][most_row_threads];
#pragma unroll
  for (int k = 0; k < Packs; ++k) {
    __syncthreads(); // earlier sums must have been read
#pragma unroll
    for (int i = 0; i < Width; ++i)
      others[i][threadIdx.x] = values[k][i];
    __syncthreads();
    if (const int column = (k * groups.threads + groups.lane()) * Width;
        groups.group() == 0 && column < groups.columns) {
      float total[Width];
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        total[i] = 0;
        for (int g = 0; g < groups.groups(); ++g)
          total[i] += others[i][g * groups.threads + groups.lane()];
      }
      store_floats(sums + column, total);
    }
  }
}

/// Each thread keeps its part of a row, and its parts of the sums over rows, in registers.
template <int Packs, class X, class Y, class Narrow>
__global__ void __launch_bounds__(most_row_threads, 2 / Packs)
    row_gradient_kernel(LayerNormBackward a, RowGroups groups, float* partials) {
  constexpr int width = row_width;
  const int columns = groups.columns;
  float dscale[Packs][width] = {}, dshift[Packs][width] = {};
  GroupSum sum_of_row{groups};
  groups.each_row([&](int row) {
    const auto each_pack = [&](auto work) { groups.each_pack<width, Packs>(row, work); };
    const float mean = a.mean && row < groups.rows ? a.mean[row] : 0.0f;
    const float inv_std = row < groups.rows ? a.inv_std[row] : 0.0f;
    float d[Packs][width], h[Packs][width];
    each_pack([&](int k, int, std::size_t at) {
      load_floats(static_cast<const Y*>(a.dy) + at, d[k]);
      load_floats(static_cast<const X*>(a.x) + at, h[k]);
    });
    float sum_g = 0, sum_gh = 0;
    each_pack([&](int k, int c, std::size_t) {
      float scale[width];
      load_floats(a.scale + c, scale);
#pragma unroll
      for (int i = 0; i < width; ++i) {
        h[k][i] = (h[k][i] - mean) * inv_std;
        dscale[k][i] = fmaf(d[k][i], h[k][i], dscale[k][i]);
        dshift[k][i] += d[k][i];
        d[k][i] *= scale[i];
        sum_g += d[k][i];
        sum_gh = fmaf(d[k][i], h[k][i], sum_gh);
      }
    });
    const auto sums = sum_of_row(sum_g, sum_gh);
    const float mean_g = a.mean ? sums.x / static_cast<float>(columns) : 0.0f;
    const float mean_gh = sums.y / static_cast<float>(columns);
    each_pack([&](int k, int, std::size_t at) {
      float other[width] = {};
      if (a.other)
        load_floats(static_cast<const X*>(a.other) + at, other);
#pragma unroll
      for (int i = 0; i < width; ++i)
        d[k][i] = layer_norm_gradient(d[k][i], h[k][i], inv_std, mean_g, mean_gh) + other[i];
      store_floats(static_cast<X*>(a.dx) + at, d[k]);
      if (a.narrow)
        store_floats(static_cast<Narrow*>(a.narrow) + at, d[k]);
    });
  });
  const int values = a.dshift ? 2 : 1;
  float* const sums = partials + static_cast<std::size_t>(blockIdx.x) * values * columns;
  write_sums(groups, dscale, sums);
  if (a.dshift)
    write_sums(groups, dshift, sums + columns);
}

/// For all shapes and types. One group per block; sums over rows stay in memory.
__global__ void __launch_bounds__(most_row_threads)
    any_row_gradient_kernel(LayerNormBackward a, LayerNormShape shape, RowGroups groups,
                            float* partials) {
  const int columns = groups.columns;
  float* const dscale =
      partials + static_cast<std::size_t>(blockIdx.x) * (a.dshift ? 2 : 1) * columns;
  float* const dshift = dscale + columns;
  for (int c = groups.lane(); c < columns; c += groups.threads) {
    dscale[c] = 0;
    if (a.dshift)
      dshift[c] = 0;
  }
  GroupSum sum_of_row{groups};
  groups.each_row([&](int row) {
    const std::size_t first = static_cast<std::size_t>(row) * columns;
    const float mean = a.mean ? a.mean[row] : 0.0f, inv_std = a.inv_std[row];
    const auto each_column = [&](auto work) {
      for (int c = groups.lane(); c < columns; c += groups.threads)
        work(c, load_as(shape.y, a.dy, first + c),
             (load_as(shape.x, a.x, first + c) - mean) * inv_std);
    };
    float sum_g = 0, sum_gh = 0;
    each_column([&](int c, float d, float h) {
      sum_g += d * a.scale[c];
      sum_gh = fmaf(d * a.scale[c], h, sum_gh);
      dscale[c] = fmaf(d, h, dscale[c]);
      if (a.dshift)
        dshift[c] += d;
    });
    const auto sums = sum_of_row(sum_g, sum_gh);
    const float mean_g = a.mean ? sums.x / static_cast<float>(columns) : 0.0f;
    const float mean_gh = sums.y / static_cast<float>(columns);
    each_column([&](int c, float d, float h) {
      const float other = a.other ? load_as(shape.x, a.other, first + c) : 0.0f;
      const float dx = layer_norm_gradient(d * a.scale[c], h, inv_std, mean_g, mean_gh) + other;
      store_as(shape.x, a.dx, first + c, dx);
      if (a.narrow)
        store_as(shape.other, a.narrow, first + c, dx);
    });
  });
}

constexpr int sum_columns_of_block = 8, sum_rows_of_block = 32;

/// Adds up the blocks' sums. dshift's columns follow dscale's.
__global__ void __launch_bounds__(sum_columns_of_block* sum_rows_of_block)
    add_partials_kernel(LayerNormBackward a, const float* partials, int blocks, int columns) {
  __shared__ double sums[sum_rows_of_block][sum_columns_of_block];
  const int values = (a.dshift ? 2 : 1) * columns;
  const int lane = threadIdx.x % sum_columns_of_block, first = threadIdx.x / sum_columns_of_block;
  const int column = static_cast<int>(blockIdx.x) * sum_columns_of_block + lane;
  double sum = 0;
  if (column < values)
    for (int block = first; block < blocks; block += sum_rows_of_block)
      sum += partials[static_cast<std::size_t>(block) * values + column];
  sums[first][lane] = sum;
  __syncthreads();
  if (first > 0 || column >= values)
    return;
  for (int i = 1; i < sum_rows_of_block; ++i)
    sum += sums[i][lane];
  (column < columns ? a.dscale + column : a.dshift + column - columns)[0] = static_cast<float>(sum);
}

template <class Fn>
void with_narrow_type(DType dtype, Fn fn) {
  if (dtype == DType::f16)
    fn(__half{});
  else
    fn(__nv_bfloat16{});
}

/// Calls fn with values of the types of x, dy and the narrow dx, if there is a fast kernel for
/// them.
template <class Fn>
bool with_backward_types(const LayerNormShape& shape, bool narrow, Fn fn) {
  const bool same = shape.x == shape.y;
  if (shape.x != DType::f32 ? !same : !same && narrow && shape.y != shape.other)
    return false;
  if (shape.x != DType::f32)
    with_narrow_type(shape.x, [&](auto type) { fn(type, type, type); });
  else if (!same)
    with_narrow_type(shape.y, [&](auto y) { fn(0.0f, y, y); });
  else
    with_narrow_type(shape.other, [&](auto other) { fn(0.0f, 0.0f, other); });
  return true;
}

/// Packs per thread of a fast kernel; 0: the row is too long.
int packs_of(std::int64_t columns) {
  for (const int packs : {1, 2})
    if (columns <= static_cast<std::int64_t>(packs) * row_width * most_row_threads)
      return packs;
  return 0;
}

/// Depends only on the shape, so that sums are the same on every device. Blocks that do not fit at
/// once would only leave more partial sums.
RowGroupLaunch groups_of(const LayerNormShape& shape, int packs) {
  const auto threads_wanted = packs == 0 ? 1 : backward_threads;
  auto launch = group_rows(shape.rows, shape.columns, std::max(packs, 1), threads_wanted);
  const int resident =
      resident_threads / std::max(packs, 1) / static_cast<int>(launch.threads_of_block);
  launch.row_blocks = std::min(launch.row_blocks, multiprocessors_wanted * resident);
  return launch;
}

/// Launches a fast kernel and returns its number of blocks; 0: there is none for these types.
template <int Packs>
unsigned launch_packed_rows(cudaStream_t stream, const LayerNormShape& shape,
                            const LayerNormBackward& a, float* partials) {
  const auto launch = groups_of(shape, Packs);
  const auto blocks = static_cast<unsigned>(launch.row_blocks);
  const bool launched = with_backward_types(shape, a.narrow, [&](auto x, auto y, auto narrow) {
    row_gradient_kernel<Packs, decltype(x), decltype(y), decltype(narrow)>
        <<<blocks, launch.threads_of_block, 0, stream>>>(a, launch.groups, partials);
  });
  return launched ? blocks : 0;
}

/// Launches the kernel that computes dx, and returns its number of blocks.
unsigned launch_rows(cudaStream_t stream, const LayerNormShape& shape, const LayerNormBackward& a,
                     float* partials) {
  const bool packed = shape.columns % row_width == 0 &&
                      aligned_for_packs(a.dy, a.x, a.other, a.dx, a.narrow, a.scale);
  const int packs = packed ? packs_of(shape.columns) : 0;
  unsigned blocks = packs == 1   ? launch_packed_rows<1>(stream, shape, a, partials)
                    : packs == 2 ? launch_packed_rows<2>(stream, shape, a, partials)
                                 : 0;
  if (blocks > 0)
    return blocks;
  const auto launch = groups_of(shape, 0);
  blocks = static_cast<unsigned>(launch.row_blocks);
  any_row_gradient_kernel<<<blocks, launch.threads_of_block, 0, stream>>>(a, shape, launch.groups,
                                                                          partials);
  return blocks;
}

} // namespace

std::size_t layer_norm_backward_bytes(const LayerNormShape& shape) {
  const auto blocks = std::max(groups_of(shape, 0).row_blocks,
                               groups_of(shape, packs_of(shape.columns)).row_blocks);
  return 2 * sizeof(float) * static_cast<std::size_t>(blocks) *
         static_cast<std::size_t>(shape.columns);
}

void launch_layer_norm_backward(cudaStream_t stream, const LayerNormShape& shape,
                                const LayerNormBackward& a, float* partials) {
  const auto blocks = launch_rows(stream, shape, a, partials);
  const auto values = (a.dshift ? 2 : 1) * shape.columns;
  const auto sum_blocks = (values + sum_columns_of_block - 1) / sum_columns_of_block;
  add_partials_kernel<<<static_cast<unsigned>(sum_blocks), sum_columns_of_block * sum_rows_of_block,
                        0, stream>>>(a, partials, static_cast<int>(blocks),
                                     static_cast<int>(shape.columns));
}

} // namespace troupe::gpu
