#include "gpu/kernels/detail/each.cuh"
#include "gpu/kernels/rope.hpp"

namespace troupe::gpu {

namespace {

/// An element is one pair in every head of a row: all heads rotate it by the same angle.
template <class T>
struct Rope {
  const T* x;
  const std::int32_t* first;
  T* y;
  int half, heads;
  std::int64_t sequence;
  float theta, direction;

  template <int Width>
  __device__ void run(std::size_t at) const {
    const auto row = static_cast<std::int64_t>(at / half);
    const int pair = static_cast<int>(at % half);
    const std::int64_t place = row % sequence + (first ? *first : 0);
    float cosines[Width], sines[Width];
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      const float angle = rope_angle(place, pair + i, half, theta);
      cosines[i] = cosf(angle);
      sines[i] = direction * sinf(angle);
    }
    auto element = static_cast<std::size_t>(row) * heads * half * 2 + pair;
    for (int head = 0; head < heads; ++head, element += 2 * half) {
      float left[Width], right[Width];
      load_floats(x + element, left);
      load_floats(x + element + half, right);
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        const float a = left[i], b = right[i];
        left[i] = a * cosines[i] - b * sines[i];
        right[i] = b * cosines[i] + a * sines[i];
      }
      store_floats(y + element, left);
      store_floats(y + element + half, right);
    }
  }
};

} // namespace

void launch_rope(cudaStream_t stream, DType dtype, const RopeAttributes& a, Turn turn,
                 std::int64_t rows, const void* x, const std::int32_t* first, void* y) {
  const auto half = static_cast<int>(a.head_dim / 2);
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const Rope<T> body{static_cast<const T*>(x),
                       first,
                       static_cast<T*>(y),
                       half,
                       static_cast<int>(a.heads),
                       a.sequence,
                       a.theta,
                       turn == Turn::forward ? 1.0f : -1.0f};
    launch_each<pack_width<T>>(stream, body, static_cast<std::size_t>(rows) * half,
                               are_packs<T>(half, x, y));
  });
}

} // namespace troupe::gpu
