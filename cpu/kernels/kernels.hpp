/// Our own kernels, compiled from the same sources for several instruction sets. Each works on the
/// part of the data that it is given, on the calling thread.
#pragma once

#include "troupe/core/optimizer_math.hpp"

#include <cstddef>

namespace troupe::cpu {

struct OptimizerRange {
  float* parameters;
  const float* gradients;
  float* state0; ///< null where the optimizer has none
  float* state1;
  std::size_t elements;
};

/// One instruction set's kernels. A table of pointers: nothing compiled for a newer processor may
/// be reached by another way.
struct Kernels {
  const char* name;

  void (*add)(float* destination, const float* source, std::size_t elements);
  void (*scale)(float* values, float factor, std::size_t elements);
  double (*squared_norm)(const float* values, std::size_t elements);
  void (*optimizer_step)(const OptimizerArguments& arguments, const OptimizerRange& range);
};

/// The best that this processor runs.
const Kernels& kernels();

} // namespace troupe::cpu
