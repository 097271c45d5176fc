/// Between bf16 and f32.
#pragma once

#include "../kernels/kernels.hpp"
#include "slices.hpp"

namespace troupe::cpu {

inline constexpr std::size_t convert_grain = 16384;

inline void widen(const Bf16* source, float* destination, std::size_t elements) {
  kernels().widen(source, destination, elements);
}
inline void narrow(const float* source, Bf16* destination, std::size_t elements) {
  kernels().narrow(source, destination, elements);
}

/// With the whole team.
inline void widen_together(const Bf16* source, float* destination, std::size_t elements) {
  parallel_for(elements, convert_grain, [=](std::size_t begin, std::size_t end) {
    widen(source + begin, destination + begin, end - begin);
  });
}
inline void narrow_together(const float* source, Bf16* destination, std::size_t elements) {
  parallel_for(elements, convert_grain, [=](std::size_t begin, std::size_t end) {
    narrow(source + begin, destination + begin, end - begin);
  });
}

/// As the threads of a slicing do it: each on its own, or all together.
inline void convert(const Slicing& slicing, const Bf16* source, float* destination,
                    std::size_t elements) {
  (slicing.side_by_side ? widen : widen_together)(source, destination, elements);
}
inline void convert(const Slicing& slicing, const float* source, Bf16* destination,
                    std::size_t elements) {
  (slicing.side_by_side ? narrow : narrow_together)(source, destination, elements);
}

} // namespace troupe::cpu
