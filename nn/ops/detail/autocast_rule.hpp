/// Autocast's rule for an op: PyTorch's lists, as data.
///
/// Source: PyTorch, "Automatic Mixed Precision", section "Autocast Op Reference". It has one list
/// for CUDA and one for the CPU. They differ in softmax and layer norm, which are f32 on CUDA and
/// follow their input on the CPU. We use CUDA's list on every device, so that all devices run the
/// same graph. tests/golden/autocast.json has both lists as recorded from PyTorch.
#pragma once

#include <cstdint>
#include <string_view>

namespace troupe::nn {

enum class AutocastRule : std::uint8_t {
  lower_precision, ///< f16 or bf16, for any input type: products, which are then fast
  fp32,            ///< f32: sums of many small terms, exponentials
  widest,          ///< widest type of the inputs: several tensors that must have one type
  follow,          ///< type of the first input: on none of PyTorch's lists
  given,           ///< types as created: ops that passes create
};

struct Autocast {
  AutocastRule rule;
  std::string_view pytorch = {}; ///< PyTorch's name of the op; empty: it has none
};

} // namespace troupe::nn
