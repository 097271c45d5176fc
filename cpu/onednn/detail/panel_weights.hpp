/// Weights of 1x1 convolutions, packed for our kernels.
#pragma once

#include "cpu/onednn/lowering.hpp"

namespace troupe::cpu {

/// A weight (out, in) as the right matrix of products. A weight that the graph does not train has a
/// packed copy. Others are packed by each run into scratch memory, as a copy would have to be once
/// a step; or, if only few slices read a large weight, by these, block by block.
class PanelWeights {
public:
  /// `forward`: for products with rows of `in` channels; else for those with rows of `out`.
  PanelWeights(const Shape& weight, bool forward)
      : out_{weight.size(0)}, in_{weight.size(1)}, forward_{forward} {}

  /// Decides how the parameter is packed, and makes the copy. `slices`: of one worker.
  Status take(Lowering& lowering, TensorId parameter, std::size_t slices);

  std::size_t depth() const { return forward_ ? in_ : out_; }
  std::size_t columns() const { return forward_ ? out_ : in_; }
  RightMatrix matrix(const float* weight) const { return {weight, in_, forward_}; }

  std::size_t scratch_bytes() const { return each_run_ ? bytes() : 0; }
  /// Returns the panels of all columns, packed now or before; null if slices pack them. `scratch`:
  /// scratch_bytes().
  const float* panels(const float* weight, std::byte* scratch) const;

private:
  std::size_t bytes() const {
    return aligned(PanelKernels::packed_floats(depth(), columns()) * sizeof(float));
  }
  /// Packs with the whole team.
  void pack(const float* weight, float* panels) const;

  std::size_t out_, in_;
  bool forward_, each_run_ = false;
  const ParameterCopy* copy_ = nullptr;
};

} // namespace troupe::cpu
