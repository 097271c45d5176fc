#include "gpu/kernels/detail/each.cuh"
#include "gpu/kernels/elementwise.hpp"

namespace troupe::gpu {

namespace {

template <class T>
struct Dropout {
  const T* x;
  T* y;
  const std::int32_t* keys;
  std::size_t of_sample;
  DropoutRule rule;

  /// Packs lie within one sample, in whole blocks of four elements.
  template <int Width>
  __device__ void run(std::size_t at) const {
    const auto key = dropout_key(keys, at / of_sample);
    const auto first = at % of_sample;
    float v[Width];
    load_floats(x + at, v);
    if constexpr (Width % 4 == 0) {
#pragma unroll
      for (int i = 0; i < Width; i += 4) {
        const auto block = static_cast<std::uint32_t>((first + i) / 4);
        const auto words = philox(dropout_counter(rule, block), key);
#pragma unroll
        for (int j = 0; j < 4; ++j)
          v[i + j] = dropped(v[i + j], words[j], rule);
      }
    } else {
      static_assert(Width == 1);
      v[0] = dropped(v[0], dropout_word(rule, key, first), rule);
    }
    store_floats(y + at, v);
  }
};

} // namespace

void launch_dropout(cudaStream_t stream, DType dtype, const DropoutRule& rule,
                    const std::int32_t* keys, std::size_t samples, std::size_t of_sample,
                    const void* x, void* y) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch_each<pack_width<T>>(
        stream, Dropout<T>{static_cast<const T*>(x), static_cast<T*>(y), keys, of_sample, rule},
        samples * of_sample, are_packs<T>(of_sample, x, y));
  });
}

} // namespace troupe::gpu
