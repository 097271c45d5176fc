// Rotary position embeddings of one row: rotates element i of a head with the element half a head
// later.
#include "cpu/kernels/detail/variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

template <class T>
void rope(const T* x, T* y, const Rotation& rotation) {
  const std::size_t half = rotation.half;
  const float* const cosines = rotation.cosines;
  const float* const sines = rotation.sines;
  for (std::size_t head = 0; head < rotation.heads; ++head) {
    const std::size_t at = 2 * half * head;
#pragma GCC ivdep
    for (std::size_t i = 0; i < half; ++i) {
      const float first = load(x, at + i), second = load(x, at + half + i);
      const float cosine = cosines[i], sine = sines[i] * rotation.direction;
      store(y, at + i, first * cosine - second * sine);
      store(y, at + half + i, second * cosine + first * sine);
    }
  }
}

} // namespace

void set_rope(Kernels& kernels) {
  kernels.f32.rope = rope<float>;
  kernels.bf16.rope = rope<Bf16>;
  kernels.f16.rope = rope<F16>;
}

} // namespace troupe::cpu::TROUPE_VARIANT
