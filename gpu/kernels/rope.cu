#include "gpu/kernels/detail/each.cuh"
#include "gpu/kernels/rope.hpp"

#include <algorithm>

namespace troupe::gpu {

namespace {

/// An element is one pair in each head of a group: all heads of a row rotate it by the same angle.
template <class T>
struct Rope {
  const T* x;
  const std::int32_t* first;
  T* y;
  int half, heads, heads_of_group;
  std::int64_t sequence;
  float theta, direction;

  template <int Width>
  __device__ void run(std::size_t at) const {
    const int groups = (heads + heads_of_group - 1) / heads_of_group;
    const auto group_of_row = static_cast<std::int64_t>(at / half);
    const auto row = group_of_row / groups;
    const int pair = static_cast<int>(at % half);
    const int first_head = static_cast<int>(group_of_row % groups) * heads_of_group;
    const int end = std::min(first_head + heads_of_group, heads);
    const std::int64_t place = row % sequence + (first ? *first : 0);
    float cosines[Width], sines[Width];
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      const float angle = rope_angle(place, pair + i, half, theta);
      cosines[i] = cosf(angle);
      sines[i] = direction * sinf(angle);
    }
    auto element = static_cast<std::size_t>(row * heads + first_head) * half * 2 + pair;
    for (int head = first_head; head < end; ++head, element += 2 * half) {
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

/// Returns how many heads a thread handles: at most eight, which share the angles, and fewer if
/// threads with eight would be too few to hide the latency of their loads.
int heads_of_thread(std::int64_t rows, std::int64_t heads, std::int64_t packs) {
  constexpr std::int64_t threads_wanted = std::int64_t{512} * each_threads;
  int count = 8;
  while (count > 1 && rows * ((heads + count - 1) / count) * packs < threads_wanted)
    count /= 2;
  return count;
}

} // namespace

void launch_rope(cudaStream_t stream, DType dtype, const RopeAttributes& a, Turn turn,
                 std::int64_t rows, const void* x, const std::int32_t* first, void* y) {
  const auto half = static_cast<int>(a.head_dim / 2);
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const bool packs = are_packs<T>(half, x, y);
    const int together = heads_of_thread(rows, a.heads, packs ? half / pack_width<T> : half);
    const std::int64_t groups = (a.heads + together - 1) / together;
    const Rope<T> body{static_cast<const T*>(x),
                       first,
                       static_cast<T*>(y),
                       half,
                       static_cast<int>(a.heads),
                       together,
                       a.sequence,
                       a.theta,
                       turn == Turn::forward ? 1.0f : -1.0f};
    launch_each<pack_width<T>>(stream, body, static_cast<std::size_t>(rows * groups) * half, packs);
  });
}

} // namespace troupe::gpu
