/// Matrix products over rows of activations: 1x1 convolutions and fully connected layers.
#pragma once

#include "cpu/onednn/detail/matrix_product.hpp"
#include "cpu/onednn/detail/packed_weights.hpp"
#include "cpu/onednn/detail/slice_fusion.hpp"
#include "cpu/onednn/detail/slices.hpp"
#include "cpu/onednn/detail/strided.hpp"
#include "cpu/onednn/lowering.hpp"

#include <optional>

namespace troupe::cpu {

/// Images of `rows` pixels of `in` channels (in a fully connected layer, an image is one pixel).
struct ProductProblem {
  std::int64_t images, rows, in, out;
  DType stored; ///< type of the activations in memory
  DType computed;
  std::optional<PixelGrid> grid; ///< set if x is read with a stride
  bool bias = false;             ///< the third input, which the product adds

  bool widens() const { return stored != computed; }
  /// Elements of x in memory, for one image.
  std::int64_t x_elements() const {
    return grid ? grid->height * grid->width * grid->channels : rows * in;
  }
  double operations() const {
    return 2.0 * static_cast<double>(images * rows) * static_cast<double>(in * out);
  }
};

/// Multiplies an activation (or its gradient) by the weight, slice by slice.
class ProductBySlices : public Step, public SliceProducer {
public:
  bool writes_slices() const override { return slicing_.side_by_side; }
  bool by_library_threads() const override { return !slicing_.side_by_side; }

protected:
  ProductBySlices(const Lowering& lowering, const Node& node, const ProductProblem& problem,
                  Direction direction);
  /// Rows of a slice.
  std::int64_t rows_of_slice() const { return slicing_.images * problem_.rows; }
  std::size_t slice_bytes() const { return library_bytes_ + x_bytes_ + y_bytes_; }

  Node node_;
  ProductProblem problem_;
  const ParameterCopy* weights_ = nullptr; ///< null: the parameter itself is read
  Slicing slicing_;
  int threads_;
  MatrixProduct product_;
  std::size_t library_bytes_, x_bytes_ = 0, y_bytes_ = 0;
};

/// y = x * weight^T [+ bias].
class ProductForward final : public ProductBySlices {
public:
  ProductForward(const Lowering& lowering, const Node& node, const ProductProblem& problem);
  /// Finds or makes the weight in the layout that the product reads.
  Status take_weights(Lowering& lowering);
  std::size_t scratch_bytes() const override;
  Status run(const Frame& frame) override;
};

/// dx = dy * weight.
class ProductBackwardData final : public ProductBySlices {
public:
  ProductBackwardData(const Lowering& lowering, const Node& node, const ProductProblem& problem);
  Status take_weights(Lowering& lowering);
  std::size_t scratch_bytes() const override;
  Status run(const Frame& frame) override;

private:
  std::size_t packed_bytes() const;
  std::byte* weights(const Frame& frame) const;

  std::optional<WeightPacking> packing_; ///< packs the parameter for each run, in place of a copy
};

/// dweight = dy^T * x, on the whole batch.
class ProductBackwardWeights final : public Step {
public:
  ProductBackwardWeights(const Lowering& lowering, const Node& node, const ProductProblem& problem);
  bool by_library_threads() const override { return true; }
  std::size_t scratch_bytes() const override;
  Status run(const Frame& frame) override;

private:
  Node node_;
  ProductProblem problem_;
  MatrixProduct product_;
  std::size_t library_bytes_, x_bytes_, y_bytes_;
};

} // namespace troupe::cpu
