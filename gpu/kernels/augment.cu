#include "gpu/kernels/augment.hpp"
#include "gpu/kernels/detail/pack.cuh"

namespace troupe::gpu {

namespace {

constexpr int threads = 256;

struct Resize {
  Extent target;
  float ratio_down, ratio_across;
  bool same; ///< whether it is as large as the source
};

__device__ Window window_of(const AugmentBatch& b, const Resize& resize, int n,
                            std::int64_t sample) {
  if (b.windows)
    return b.windows[n];
  Window window;
  if (b.crop || b.flip) {
    window = random_window(*b.key, sample, resize.target, b.image_size, b.padding);
    window.flip = window.flip && b.flip;
  }
  if (!b.crop) {
    window.top = b.centre.top;
    window.left = b.centre.left;
  }
  return window;
}

/// Computes one pixel of the output, `Channels` values.
template <int Channels>
__device__ void make_pixel(const AugmentBatch& b, const Resize& resize, const Window& window,
                           const std::uint8_t* image, int y, int x, float* pixel) {
  const int h = window.top + y, w = window.left + (window.flip ? b.image_size - 1 - x : x);
  const bool inside = h >= 0 && h < resize.target.height && w >= 0 && w < resize.target.width;
  const auto row_bytes = b.source.width * b.source_channels;
  const ResizeTap down =
      resize.same ? ResizeTap{h, h, 0} : resize_tap(h, resize.ratio_down, b.source.height);
  const ResizeTap across =
      resize.same ? ResizeTap{w, w, 0} : resize_tap(w, resize.ratio_across, b.source.width);
  const std::uint8_t* const top = image + static_cast<std::ptrdiff_t>(down.first) * row_bytes;
  const std::uint8_t* const bottom = image + static_cast<std::ptrdiff_t>(down.second) * row_bytes;
#pragma unroll
  for (int c = 0; c < Channels; ++c) {
    float value = 0;
    if (c >= b.channels) {
      pixel[c] = 0;
      continue;
    }
    if (inside) {
      const int from = b.source_channels == 1 ? 0 : c;
      const int first = across.first * b.source_channels + from,
                second = across.second * b.source_channels + from;
      value = resize.same ? static_cast<float>(top[first])
                          : blend(blend(top[first], top[second], across.weight),
                                  blend(bottom[first], bottom[second], across.weight), down.weight);
    }
    pixel[c] = normalize(value, b.scale[c < 3 ? c : 0], b.shift[c < 3 ? c : 0]);
  }
}

/// blockIdx.y is the image. Blocks along x share its pixels; a thread handles `Pixels` adjacent
/// ones.
template <class T, int Channels, int Pixels>
__global__ void __launch_bounds__(threads) augment_kernel(AugmentBatch b, Resize resize) {
  const int n = static_cast<int>(blockIdx.y);
  const std::int64_t sample = b.indices ? b.indices[n] : n;
  __shared__ Window window;
  if (threadIdx.x == 0) {
    if (sample >= 0)
      window = window_of(b, resize, n, sample);
    if (blockIdx.x == 0 && b.labels)
      b.batch_labels[n] = sample >= 0 ? b.labels[sample] : -1;
  }
  __syncthreads();
  const auto source_bytes =
      static_cast<std::int64_t>(b.source.height) * b.source.width * b.source_channels;
  const std::uint8_t* const image = b.pixels + (sample >= 0 ? sample * source_bytes : 0);
  const int pixels = b.image_size * b.image_size;
  T* const output = static_cast<T*>(b.images) + static_cast<std::int64_t>(n) * pixels * Channels;
  for (int at = static_cast<int>(blockIdx.x * threads + threadIdx.x) * Pixels; at < pixels;
       at += static_cast<int>(gridDim.x) * threads * Pixels) {
    float values[Pixels * Channels] = {};
    if (sample >= 0)
#pragma unroll
      for (int i = 0; i < Pixels; ++i)
        make_pixel<Channels>(b, resize, window, image, at / b.image_size, at % b.image_size + i,
                             values + i * Channels);
    store_floats(output + static_cast<std::int64_t>(at) * Channels, values);
  }
}

template <class T, int Channels>
void launch(cudaStream_t stream, const AugmentBatch& b, const Resize& resize) {
  // Enough pixels for whole packs: with 4 channels a few suffice, other channel counts need a full
  // pack width.
  constexpr int neighbours = Channels == 4 ? pack_width<T> / 4 : pack_width<T>;
  const bool packs = b.image_size % neighbours == 0;
  const auto pixels = static_cast<unsigned>(b.image_size * b.image_size);
  const unsigned pixels_of_block = threads * (packs ? neighbours : 1) * 4;
  const dim3 blocks{(pixels + pixels_of_block - 1) / pixels_of_block,
                    static_cast<unsigned>(b.batch)};
  if (packs)
    augment_kernel<T, Channels, neighbours><<<blocks, threads, 0, stream>>>(b, resize);
  else
    augment_kernel<T, Channels, 1><<<blocks, threads, 0, stream>>>(b, resize);
}

} // namespace

void launch_augment(cudaStream_t stream, const AugmentBatch& b) {
  if (b.batch == 0)
    return;
  const Extent target = resized_extent(b.source, b.image_size);
  const Resize resize{
      target, static_cast<float>(b.source.height) / static_cast<float>(target.height),
      static_cast<float>(b.source.width) / static_cast<float>(target.width), target == b.source};
  with_type(b.dtype, [&](auto type) {
    using T = decltype(type);
    if (b.stored_channels == 4)
      launch<T, 4>(stream, b, resize);
    else if (b.stored_channels == 3)
      launch<T, 3>(stream, b, resize);
    else
      launch<T, 1>(stream, b, resize);
  });
}

} // namespace troupe::gpu
