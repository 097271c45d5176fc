/// Conversion between f32 and the storage types of activations.
#pragma once

#include "cpu/kernels/kernels.hpp"
#include "cpu/onednn/detail/slices.hpp"

#include <cstddef>

namespace troupe::cpu {

inline void widen(DType from, const std::byte* source, float* destination, std::size_t elements) {
  with_element(from, [&]<class T>(T) {
    kernels().of<T>().widen(reinterpret_cast<const T*>(source), destination, elements);
  });
}
inline void narrow(DType to, const float* source, std::byte* destination, std::size_t elements) {
  with_element(to, [&]<class T>(T) {
    kernels().of<T>().narrow(source, reinterpret_cast<T*>(destination), elements);
  });
}

/// Casts to f32 with the whole team.
inline void widen_together(DType from, const std::byte* source, float* destination,
                           std::size_t elements) {
  parallel_for(elements, elementwise_grain, [=](std::size_t begin, std::size_t end) {
    widen(from, source + begin * size_of(from), destination + begin, end - begin);
  });
}
inline void narrow_together(DType to, const float* source, std::byte* destination,
                            std::size_t elements) {
  parallel_for(elements, elementwise_grain, [=](std::size_t begin, std::size_t end) {
    narrow(to, source + begin, destination + begin * size_of(to), end - begin);
  });
}

/// Rounds each value to the nearest one of a type.
inline void round_together(DType type, float* values, std::size_t elements) {
  parallel_for(elements, elementwise_grain, [=](std::size_t begin, std::size_t end) {
    with_element(type, [&]<class T>(T) { kernels().of<T>().round(values + begin, end - begin); });
  });
}

/// A whole tensor that a step reads in f32 or, if `widen` is false, as it is stored.
struct ReadTensor {
  DType stored;
  bool widen;
  std::size_t elements;

  /// Scratch bytes of the cast values.
  std::size_t bytes() const { return widen ? aligned(elements * sizeof(float)) : 0; }
  /// Returns the values, cast to `room` if necessary.
  std::byte* read(std::byte* values, std::byte* room) const {
    if (!widen)
      return values;
    widen_together(stored, values, reinterpret_cast<float*>(room), elements);
    return room;
  }
};

/// Casts to f32 in the way of a slicing: on the calling thread, or on all threads together.
inline void widen_slice(const Slicing& slicing, DType from, const std::byte* source,
                        float* destination, std::size_t elements) {
  (slicing.side_by_side ? widen : widen_together)(from, source, destination, elements);
}
inline void narrow_slice(const Slicing& slicing, DType to, const float* source,
                         std::byte* destination, std::size_t elements) {
  (slicing.side_by_side ? narrow : narrow_together)(to, source, destination, elements);
}

} // namespace troupe::cpu
