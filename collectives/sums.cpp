#include "sums.hpp"

#include "troupe/cpu/kernels/kernels.hpp"

#include <algorithm>
#include <array>
#include <concepts>

namespace troupe::collectives {

namespace {

/// Small enough that the sum and a piece of every source stay in the first-level cache.
constexpr std::size_t piece_elements = 1024;

template <class T>
void add(T* sum, const T* values, std::size_t elements) {
  if constexpr (std::same_as<T, float>)
    return cpu::kernels().add(sum, values, elements);
  else
    for (std::size_t i = 0; i < elements; ++i)
      sum[i] = static_cast<T>(sum[i] + values[i]);
}

/// Types that are summed as what they are.
template <class T>
void sum_plain(std::span<const void* const> sources, T* sum, std::size_t elements) {
  std::array<T, piece_elements> piece;
  for (std::size_t at = 0; at < elements; at += piece_elements) {
    const auto count = std::min(piece_elements, elements - at);
    std::copy_n(static_cast<const T*>(sources[0]) + at, count, piece.data());
    for (const auto* const source : sources.subspan(1))
      add(piece.data(), static_cast<const T*>(source) + at, count);
    std::copy_n(piece.data(), count, sum + at);
  }
}

template <class T>
void sum_narrow(std::span<const void* const> sources, T* sum, std::size_t elements) {
  const auto& kernels = cpu::kernels().of<T>();
  std::array<float, piece_elements> piece, widened;
  for (std::size_t at = 0; at < elements; at += piece_elements) {
    const auto count = std::min(piece_elements, elements - at);
    kernels.widen(static_cast<const T*>(sources[0]) + at, piece.data(), count);
    for (const auto* const source : sources.subspan(1)) {
      kernels.widen(static_cast<const T*>(source) + at, widened.data(), count);
      add(piece.data(), widened.data(), count);
    }
    kernels.narrow(piece.data(), sum + at, count);
  }
}

} // namespace

void sum_in_order(DType type, std::span<const void* const> sources, void* sum,
                  std::size_t elements) {
  switch (type) {
  case DType::f32:
    return sum_plain(sources, static_cast<float*>(sum), elements);
  case DType::f64:
    return sum_plain(sources, static_cast<double*>(sum), elements);
  case DType::i32: // unsigned, so that they wrap
    return sum_plain(sources, static_cast<std::uint32_t*>(sum), elements);
  case DType::u8:
    return sum_plain(sources, static_cast<std::uint8_t*>(sum), elements);
  case DType::bf16:
    return sum_narrow(sources, static_cast<cpu::Bf16*>(sum), elements);
  case DType::f16:
    return sum_narrow(sources, static_cast<cpu::F16*>(sum), elements);
  }
}

} // namespace troupe::collectives
