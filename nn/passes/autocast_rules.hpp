/// What autocast does with each op: PyTorch's lists, as data.
///
/// Source: PyTorch, "Automatic Mixed Precision", section "Autocast Op Reference". It has a list for
/// CUDA and one for the CPU. They differ (softmax and layer norm are f32 on CUDA, and follow their
/// input on the CPU), but in none of the ops that are here: tests/golden/autocast.json has both as
/// recorded from PyTorch.
#pragma once

#include "troupe/core/graph.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace troupe::nn {

enum class AutocastRule : std::uint8_t {
  lower_precision, ///< in f16 or bf16, whatever its inputs have: products, which are fast then
  fp32,            ///< in f32: sums of many small terms, exponentials
  widest,          ///< in the widest type of its inputs: several tensors that must have one type
  follow,          ///< in the type of its first input: on no list of PyTorch's
  given,           ///< in the types that it was made with: ops that passes make
};

struct AutocastEntry {
  Op op;
  AutocastRule rule;
  std::string_view pytorch; ///< what PyTorch calls it; empty: it has none
};

/// All forward ops, in the order of enum Op. Backward ops compute in their forward op's type:
/// autodiff gives each gradient the type of what it is the gradient of.
std::span<const AutocastEntry> autocast_table();

AutocastRule autocast_rule(Op forward);

} // namespace troupe::nn
