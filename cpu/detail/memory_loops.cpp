#include "cpu/detail/memory_loops.hpp"

#include "cpu/processor.hpp"

namespace troupe::cpu {

namespace {

using Vector16 = float __attribute__((vector_size(16), may_alias));

#if defined(__x86_64__)
#define TROUPE_VECTOR_REGISTER "v"
#else
#define TROUPE_VECTOR_REGISTER "w"
#endif

/// Calls body(offset) for every vector's offset in elements, unrolled to the granularity.
template <class V, class Body>
[[gnu::always_inline]] inline void for_vectors(std::size_t bytes, Body body) {
  constexpr std::size_t width = sizeof(V) / sizeof(float);
  constexpr std::size_t step = loop_granularity / sizeof(float);
  for (std::size_t begin = 0; begin < bytes / sizeof(float); begin += step)
#pragma GCC unroll 32
    for (std::size_t at = 0; at < step; at += width)
      body(begin + at);
}

template <class V>
[[gnu::always_inline]] inline V& vector_at(float* array, std::size_t offset) {
  return *reinterpret_cast<V*>(array + offset);
}

/// The statements without instructions prevent the compiler from dropping a load or merging
/// stores into a call of memset.
template <class V>
[[gnu::always_inline]] inline void loop(MemoryAccess access, const LoopArrays& x) {
  float *const a = x.a, *const b = x.b, *const c = x.c;
  switch (access) {
  case MemoryAccess::read:
    return for_vectors<V>(
        x.bytes, [a](std::size_t i) __attribute__((always_inline)) {
          const V value = vector_at<V>(a, i);
          asm volatile("" : : TROUPE_VECTOR_REGISTER(value));
        });
  case MemoryAccess::write: {
    V value{};
    return for_vectors<V>(
        x.bytes, [ a, &value ](std::size_t i) __attribute__((always_inline)) {
          asm volatile("" : "+" TROUPE_VECTOR_REGISTER(value));
          vector_at<V>(a, i) = value;
        });
  }
  case MemoryAccess::update:
    return for_vectors<V>(
        x.bytes, [a](std::size_t i) __attribute__((always_inline)) {
          V value = vector_at<V>(a, i);
          asm volatile("" : "+" TROUPE_VECTOR_REGISTER(value));
          vector_at<V>(a, i) = value;
        });
  case MemoryAccess::copy:
    return for_vectors<V>(
        x.bytes, [ a, b ](std::size_t i) __attribute__((always_inline)) {
          V value = vector_at<V>(a, i);
          asm volatile("" : "+" TROUPE_VECTOR_REGISTER(value));
          vector_at<V>(b, i) = value;
        });
  case MemoryAccess::triad:
    return for_vectors<V>(
        x.bytes, [ a, b, c ](std::size_t i) __attribute__((always_inline)) {
          vector_at<V>(c, i) = vector_at<V>(a, i) + vector_at<V>(b, i);
        });
  }
}

void loop_of_16(MemoryAccess access, const LoopArrays& arrays) {
  loop<Vector16>(access, arrays);
}

#if defined(__x86_64__)
using Vector32 = float __attribute__((vector_size(32), may_alias));
using Vector64 = float __attribute__((vector_size(64), may_alias));

[[gnu::target("avx2")]] void loop_of_32(MemoryAccess access, const LoopArrays& arrays) {
  loop<Vector32>(access, arrays);
}

[[gnu::target("avx512f")]] void loop_of_64(MemoryAccess access, const LoopArrays& arrays) {
  loop<Vector64>(access, arrays);
}
#endif

} // namespace

void run_loop(MemoryAccess access, const LoopArrays& arrays) {
#if defined(__x86_64__)
  static const auto features = processor();
  if (features.v4)
    return loop_of_64(access, arrays);
  if (features.v3)
    return loop_of_32(access, arrays);
#endif
  loop_of_16(access, arrays);
}

} // namespace troupe::cpu
