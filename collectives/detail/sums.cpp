#include "collectives/detail/sums.hpp"

#include "cpu/kernels/kernels.hpp"

#include <algorithm>
#include <array>
#include <concepts>

namespace troupe::collectives {

namespace {

/// Small enough that the sum and a chunk of every source stay in the first-level cache.
constexpr std::size_t piece_elements = 1024;

template <class T>
void add_plain(T* sum, const T* values, std::size_t elements) {
  if constexpr (std::same_as<T, float>)
    return cpu::kernels().add(sum, values, elements);
  else
    for (std::size_t i = 0; i < elements; ++i)
      sum[i] = static_cast<T>(sum[i] + values[i]);
}

template <class T>
constexpr bool narrow = std::same_as<T, cpu::Bf16> || std::same_as<T, cpu::F16>;

/// Sums types without conversion to f32.
template <class T>
void sum_typed(std::span<const void* const> sources, T* sum, std::size_t elements) {
  std::array<T, piece_elements> piece;
  for (std::size_t at = 0; at < elements; at += piece_elements) {
    const auto count = std::min(piece_elements, elements - at);
    std::copy_n(static_cast<const T*>(sources[0]) + at, count, piece.data());
    for (const auto* const source : sources.subspan(1))
      add_plain(piece.data(), static_cast<const T*>(source) + at, count);
    std::copy_n(piece.data(), count, sum + at);
  }
}

template <class T>
requires narrow<T>
void sum_typed(std::span<const void* const> sources, T* sum, std::size_t elements) {
  const auto& kernels = cpu::kernels().of<T>();
  std::array<float, piece_elements> piece, widened;
  for (std::size_t at = 0; at < elements; at += piece_elements) {
    const auto count = std::min(piece_elements, elements - at);
    kernels.widen(static_cast<const T*>(sources[0]) + at, piece.data(), count);
    for (const auto* const source : sources.subspan(1)) {
      kernels.widen(static_cast<const T*>(source) + at, widened.data(), count);
      add_plain(piece.data(), widened.data(), count);
    }
    kernels.narrow(piece.data(), sum + at, count);
  }
}

/// Calls fn with a null pointer to the C++ type of `type`.
template <class Fn>
void with_type(DType type, Fn fn) {
  switch (type) {
  case DType::f32:
    return fn(static_cast<float*>(nullptr));
  case DType::f64:
    return fn(static_cast<double*>(nullptr));
  case DType::i32: // unsigned, so that sums wrap
    return fn(static_cast<std::uint32_t*>(nullptr));
  case DType::u8:
    return fn(static_cast<std::uint8_t*>(nullptr));
  case DType::bf16:
    return fn(static_cast<cpu::Bf16*>(nullptr));
  case DType::f16:
    return fn(static_cast<cpu::F16*>(nullptr));
  }
}

} // namespace

void sum_in_order(DType type, std::span<const void* const> sources, void* sum,
                  std::size_t elements) {
  with_type(type, [&]<class T>(T*) { sum_typed(sources, static_cast<T*>(sum), elements); });
}

void add(DType type, void* sum, const void* values, std::size_t elements) {
  with_type(type, [&]<class T>(T*) {
    if constexpr (narrow<T>)
      sum_typed(std::array{static_cast<const void*>(sum), values}, static_cast<T*>(sum), elements);
    else
      add_plain(static_cast<T*>(sum), static_cast<const T*>(values), elements);
  });
}

} // namespace troupe::collectives
