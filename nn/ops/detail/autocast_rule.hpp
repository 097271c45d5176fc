/// What autocast does with an op: PyTorch's lists, as data.
///
/// Source: PyTorch, "Automatic Mixed Precision", section "Autocast Op Reference". It has a list for
/// CUDA and one for the CPU. Where they differ (softmax and layer norm are f32 on CUDA, and follow
/// their input on the CPU), ours is CUDA's on every device, so that all run one graph:
/// tests/golden/autocast.json has both as recorded from PyTorch.
#pragma once

#include <cstdint>
#include <string_view>

namespace troupe::nn {

enum class AutocastRule : std::uint8_t {
  lower_precision, ///< in f16 or bf16, whatever its inputs have: products, which are fast then
  fp32,            ///< in f32: sums of many small terms, exponentials
  widest,          ///< in the widest type of its inputs: several tensors that must have one type
  follow,          ///< in the type of its first input: on no list of PyTorch's
  given,           ///< in the types that it was made with: ops that passes make
};

struct Autocast {
  AutocastRule rule;
  std::string_view pytorch = {}; ///< what PyTorch calls the op; empty: it has none
};

} // namespace troupe::nn
