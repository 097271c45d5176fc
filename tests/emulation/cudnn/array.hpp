/// Values in the arithmetic of the emulated engines: f32 in the memory of the host.
#pragma once

#include "tests/emulation/cudnn/layout.hpp"
#include "tests/emulation/values.hpp"

#include <vector>

namespace emulation::cudnn {

/// A tensor, or a part of one, without gaps.
struct Array {
  Dims dims, strides;
  std::vector<float> values;

  /// Zeros, in the order of `like`.
  Array(const Dims& dims, const Dims& like);
  Array(const Dims& dims, const Dims& like, std::vector<float> values);
};

/// Returns the values in another order, with axes of size 1 repeated up to `dims`.
Array arranged(Array from, const Dims& dims, const Dims& like);

/// Rounds to the nearest value of a type. Integers and truth values are exact in f32.
void round_to(Type type, std::vector<float>& values);

/// Reads elements of a type that have these strides.
Array read_array(const void* memory, Type type, const Dims& dims, const Dims& strides);
/// Writes an array that is in the order of `strides`.
void write_array(const Array& array, void* memory, Type type, const Dims& strides);

} // namespace emulation::cudnn
