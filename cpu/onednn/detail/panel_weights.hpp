/// Weights of 1x1 convolutions, packed for our kernels.
#pragma once

#include "cpu/onednn/lowering.hpp"

namespace troupe::cpu {

/// A weight (out, in) as the right matrix of products. If the graph trains it, each run packs it
/// into scratch memory: a copy would also be packed once a step, and need memory between the steps.
/// Other weights have a copy.
class PanelWeights {
public:
  /// `forward`: for products with rows of `in` channels; else for those with rows of `out`.
  PanelWeights(const Shape& weight, bool forward)
      : out_{weight.size(0)}, in_{weight.size(1)}, forward_{forward} {}

  /// Makes a copy if the graph does not train the parameter.
  Status take(Lowering& lowering, TensorId parameter);

  std::size_t depth() const { return forward_ ? in_ : out_; }
  std::size_t columns() const { return forward_ ? out_ : in_; }
  std::size_t scratch_bytes() const { return copy_ ? 0 : bytes(); }
  /// Returns the panels of all columns. `scratch`: scratch_bytes().
  const float* panels(const float* weight, std::byte* scratch) const;

private:
  std::size_t bytes() const {
    return aligned(PanelKernels::packed_floats(depth(), columns()) * sizeof(float));
  }
  /// Packs with the whole team.
  void pack(const float* weight, float* panels) const;

  std::size_t out_, in_;
  bool forward_;
  const ParameterCopy* copy_ = nullptr;
};

} // namespace troupe::cpu
