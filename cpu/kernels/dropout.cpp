// Dropout: Philox4x32-10 of many blocks at once. core/random.hpp has the same function for one
// block, but it must not be compiled here.
#include "cpu/kernels/detail/variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

constexpr std::size_t lanes = 64, words_at_once = 4 * lanes;

/// Computes the words of the blocks from `first` on.
void draw(const DropoutMask& mask, std::uint32_t first, std::uint32_t* __restrict words) {
  std::uint32_t c0[lanes], c1[lanes], c2[lanes], c3[lanes];
  for (std::size_t i = 0; i < lanes; ++i) {
    c0[i] = first + static_cast<std::uint32_t>(i);
    c1[i] = mask.counter[1];
    c2[i] = mask.counter[2];
    c3[i] = mask.counter[3];
  }
  auto k0 = static_cast<std::uint32_t>(mask.key), k1 = static_cast<std::uint32_t>(mask.key >> 32);
  for (int round = 0; round < philox_rounds; ++round) {
    for (std::size_t i = 0; i < lanes; ++i) {
      const std::uint64_t p0 = std::uint64_t{philox_factor_0} * c0[i];
      const std::uint64_t p1 = std::uint64_t{philox_factor_1} * c2[i];
      c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c1[i] = static_cast<std::uint32_t>(p1);
      c3[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += philox_key_step_0;
    k1 += philox_key_step_1;
  }
  for (std::size_t i = 0; i < lanes; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

template <class T>
void dropout(const DropoutMask& mask, const T* x, T* y, std::size_t elements) {
  std::uint32_t words[words_at_once];
  std::size_t skipped = mask.first % 4; // words before the first element's
  for (std::size_t done = 0; done < elements; skipped = 0) {
    draw(mask, static_cast<std::uint32_t>((mask.first + done) / 4), words);
    const std::size_t room = words_at_once - skipped, left = elements - done;
    const std::size_t count = left < room ? left : room;
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) {
      const float value = load(x, done + i) * mask.scale;
      store(y, done + i, words[skipped + i] < mask.bound ? 0.0f : value);
    }
    done += count;
  }
}

} // namespace

void set_dropout(Kernels& kernels) {
  kernels.f32.dropout = dropout<float>;
  kernels.bf16.dropout = dropout<Bf16>;
  kernels.f16.dropout = dropout<F16>;
}

} // namespace troupe::cpu::TROUPE_VARIANT
