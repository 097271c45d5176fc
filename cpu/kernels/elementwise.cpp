// Element-wise kernels on activations.
#include "cpu/kernels/detail/exponential.hpp"
#include "cpu/kernels/detail/variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

template <class T>
void widen(const T* __restrict source, float* __restrict destination, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i)
    destination[i] = load(source, i);
}

template <class T>
void narrow(const float* __restrict source, T* __restrict destination, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i)
    store(destination, i, source[i]);
}

template <class T>
void round(float* values, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i)
    values[i] = rounded<T>(values[i]);
}

template <class T>
void relu(const T* x, T* y, std::size_t elements) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements; ++i) {
    const float value = load(x, i);
    store(y, i, value < 0.0f ? 0.0f : value); // a NaN stays
  }
}

template <class T>
void relu_backward(const T* dy, const T* y, T* dx, std::size_t elements) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements; ++i)
    store(dx, i, load(y, i) > 0.0f ? load(dy, i) : 0.0f);
}

/// The factor of x in gelu, and its derivative.
struct Gate {
  float value, slope;
};

/// The distribution function of the normal distribution. e^(z * z) * erfc(z) is computed as a
/// polynomial of t = 1 / (1 + 0.38 * z), found by Remez's exchange, with a relative error of 2e-8
/// for z up to 9.4.
inline Gate normal(float x) {
  const float z = 0.707106781f * (x < 0.0f ? -x : x), t = 1.0f / (1.0f + 0.38f * z);
  const float density = exponential(-0.5f * x * x);
  const float tail =
      0.5f * t * density *
      polynomial(t, 0.05884969812f, -0.2616852933f, 0.3625679655f, -0.1598967111f, 0.2288791305f,
                 0.1391712013f, 0.2037634531f, 0.2139409898f, 0.2144095856f);
  return {x < 0.0f ? tail : 1.0f - tail, 0.398942280f * density};
}

/// (1 + tanh(u)) / 2 is 1 / (1 + e^(-2 * u)). The value is 0 or 1 for |x| >= 30.
inline Gate by_tanh(float x) {
  constexpr float twice_factor = 1.59576912f, cubic = 0.044715f; // 2 * sqrt(2 / pi)
  const float near = clamp(x, -30.0f, 30.0f), square = near * near;
  const float value = 1.0f / (1.0f + exponential(-twice_factor * near * (1.0f + cubic * square)));
  return {value, value * (1.0f - value) * twice_factor * (1.0f + 3 * cubic * square)};
}

template <class T, Gate gate(float)>
void multiply_by(const T* x, T* y, std::size_t elements) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements; ++i) {
    const float value = load(x, i);
    store(y, i, value * gate(value).value);
  }
}

template <class T>
void gelu(const T* x, T* y, std::size_t elements, bool tanh) {
  (tanh ? multiply_by<T, by_tanh> : multiply_by<T, normal>)(x, y, elements);
}

template <class T, Gate gate(float)>
void multiply_block_by_backward(const T* dy, const T* x, T* dx, std::size_t elements) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements; ++i) {
    const float value = load(x, i);
    const auto g = gate(value);
    store(dx, i, load(dy, i) * (g.value + value * g.slope));
  }
}

/// Prefetches x: it is from the forward pass, and no longer in a cache. The processor computes too
/// long on each element to load far enough ahead by itself.
template <class T, Gate gate(float)>
void multiply_by_backward(const T* dy, const T* x, T* dx, std::size_t elements) {
  constexpr std::size_t block = 1024, line = 64 / sizeof(T);
  for (std::size_t begin = 0; begin < elements; begin += block) {
    const std::size_t end = begin + block < elements ? begin + block : elements;
    for (std::size_t ahead = end; ahead < end + block && ahead < elements; ahead += line)
      __builtin_prefetch(x + ahead);
    multiply_block_by_backward<T, gate>(dy + begin, x + begin, dx + begin, end - begin);
  }
}

template <class T>
void gelu_backward(const T* dy, const T* x, T* dx, std::size_t elements, bool tanh) {
  (tanh ? multiply_by_backward<T, by_tanh> : multiply_by_backward<T, normal>)(dy, x, dx, elements);
}

/// 1 / (1 + e^-x).
inline float sigmoid(float x) {
  return 1.0f / (1.0f + exponential(-x));
}

template <class T>
void swiglu(const T* gate, const T* up, T* y, std::size_t elements) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements; ++i) {
    const float value = load(gate, i);
    store(y, i, value * sigmoid(value) * load(up, i));
  }
}

template <class T>
void swiglu_backward(const SwigluGradient<T>& g, std::size_t elements) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements; ++i) {
    const float value = load(g.gate, i), p = sigmoid(value), dy = load(g.dy, i);
    const float slope = p * (1.0f + value * (1.0f - p));
    store(g.dgate, i, dy * load(g.up, i) * slope);
    store(g.dup, i, dy * value * p);
  }
}

template <class T>
void add_elements(const T* a, const T* b, T* sum, std::size_t elements) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements; ++i)
    store(sum, i, load(a, i) + load(b, i));
}

template <class T>
void add_rows(const T* __restrict x, Rows rows, float* __restrict sums) {
  const std::size_t w = rows.width, count = rows.elements / w;
  std::size_t row = 0;
  for (; row + 4 <= count; row += 4, x += 4 * w)
    for (std::size_t c = 0; c < w; ++c)
      sums[c] += (load(x, c) + load(x, c + w)) + (load(x, c + 2 * w) + load(x, c + 3 * w));
  for (; row < count; ++row, x += w)
    for (std::size_t c = 0; c < w; ++c)
      sums[c] += load(x, c);
}

constexpr std::size_t blocks_at_once = 64, words_at_once = 4 * blocks_at_once;

/// Computes the words of the blocks from `first` on by Philox4x32-10. core/random.hpp has the same
/// function for one block, but it must not be compiled here.
void draw(const DropoutMask& mask, std::uint32_t first, std::uint32_t* __restrict words) {
  std::uint32_t c0[blocks_at_once], c1[blocks_at_once], c2[blocks_at_once], c3[blocks_at_once];
  for (std::size_t i = 0; i < blocks_at_once; ++i) {
    c0[i] = first + static_cast<std::uint32_t>(i);
    c1[i] = mask.counter[1];
    c2[i] = mask.counter[2];
    c3[i] = mask.counter[3];
  }
  auto k0 = static_cast<std::uint32_t>(mask.key), k1 = static_cast<std::uint32_t>(mask.key >> 32);
  for (int round = 0; round < philox_rounds; ++round) {
    for (std::size_t i = 0; i < blocks_at_once; ++i) {
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
  for (std::size_t i = 0; i < blocks_at_once; ++i) {
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

/// Rotates element i of a head with the element half a head later.
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

void set_elementwise(Kernels& kernels) {
  kernels.for_types([]<class T>(TypedKernels<T>& typed) {
    typed.widen = widen<T>;
    typed.narrow = narrow<T>;
    typed.round = round<T>;
    typed.relu = relu<T>;
    typed.relu_backward = relu_backward<T>;
    typed.gelu = gelu<T>;
    typed.gelu_backward = gelu_backward<T>;
    typed.swiglu = swiglu<T>;
    typed.swiglu_backward = swiglu_backward<T>;
    typed.add = add_elements<T>;
    typed.add_rows = add_rows<T>;
    typed.dropout = dropout<T>;
    typed.rope = rope<T>;
  });
}

} // namespace troupe::cpu::TROUPE_VARIANT
