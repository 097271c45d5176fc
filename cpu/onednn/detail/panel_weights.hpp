/// Weights of convolutions, packed for our kernels.
#pragma once

#include "cpu/onednn/detail/tap_grids.hpp"
#include "cpu/onednn/lowering.hpp"

namespace troupe::cpu {

/// Weights as the right matrices of products, one for each grid: (taps * depth, columns). If the
/// graph trains the parameter, each run packs it into scratch memory: a copy would also be packed
/// once a step, and need memory between the steps. Other weights have a copy.
class PanelWeights {
public:
  /// `forward`: for products with rows of `in` channels; else for those with rows of `out`.
  PanelWeights(const Shape& weight, const TapGrids& grids, bool forward);

  /// Makes a copy if the graph does not train the parameter.
  Status take(Lowering& lowering, TensorId parameter);

  std::size_t depth() const { return forward_ ? in_ : out_; }
  std::size_t columns() const { return forward_ ? out_ : in_; }
  std::size_t scratch_bytes() const { return copy_ ? 0 : bytes_; }
  /// Returns the panels of all grids. `scratch`: scratch_bytes().
  const float* panels(const float* weight, std::byte* scratch) const;
  /// Returns where a grid's panels begin.
  std::size_t offset(std::size_t grid) const { return matrices_[grid].offset; }

private:
  struct Matrix {
    std::vector<std::size_t> taps; ///< their weights
    std::size_t offset;            ///< of its panels, in floats
  };

  /// Packs with the whole team.
  void pack(const float* weight, float* panels) const;
  void pack_panels(const Matrix& matrix, const float* weight, std::size_t begin, std::size_t end,
                   float* panels) const;

  std::size_t out_, in_;
  bool forward_;
  std::vector<Matrix> matrices_;
  std::size_t bytes_;
  const ParameterCopy* copy_ = nullptr;
};

/// The layout in which these weights (out, in, kernel, kernel) must be stored: (kernel, kernel,
/// out, in).
dnnl::memory::desc tap_weights(const Shape& weight);

} // namespace troupe::cpu
