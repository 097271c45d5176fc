#include "cpu/onednn/detail/products.hpp"

#include "core/fail.hpp"
#include "cpu/onednn/detail/convert.hpp"
#include "cpu/onednn/detail/matrix_product.hpp"
#include "cpu/onednn/detail/slice_fusion.hpp"
#include "cpu/onednn/detail/slices.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::cpu {

namespace {

/// Slices of fully connected layers take a quarter of a MiB, so that consumers find them in a
/// core's cache next to the weights. They have enough rows that reading weights does not dominate.
/// For f32, all threads together have a faster way to multiply (MatrixProduct).
Slicing slice_rows(const ProductProblem& p, int threads) {
  constexpr std::int64_t bytes = 256 << 10, default_rows = 64, least_rows = 16;
  const auto row_bytes = (p.in + p.out) * static_cast<std::int64_t>(size_of(p.stored));
  const auto slicing = slice_batch(p.images, std::max(bytes / row_bytes, default_rows), threads);
  const bool worth_it = p.computed != DType::f32 && slicing.images >= least_rows;
  return worth_it ? slicing : Slicing{p.images, 1, false, threads};
}

Slicing slice(const ProductProblem& p, int threads) {
  if (p.rows == 1)
    return slice_rows(p, threads);
  return slice_batch(p.images, static_cast<std::size_t>(p.rows * (p.in + p.out)) * sizeof(float),
                     static_cast<std::size_t>(p.in * p.out) * sizeof(float), threads);
}

/// The parameter as the second operand of a product forward, or backward.
Matrix weight_of(const ProductProblem& p, bool forward, DType dtype) {
  return {forward ? p.in : p.out, forward ? p.out : p.in, forward, dtype};
}

/// Whether the product reads packed weights. Those of f32 are read as stored, without a copy.
bool packs(const Lowering& lowering, const Node& node, const ProductProblem& p) {
  const auto parameter = node.inputs[1];
  return p.computed == DType::bf16 &&
         lowering.stored(parameter) == plain_weights(lowering.graph[parameter].shape, DType::f32);
}

/// Returns the product of one slice, made for the threads that will run it.
MatrixProduct slice_product(const Lowering& lowering, const Node& node, const ProductProblem& p,
                            const Slicing& slicing, bool forward) {
  const ThreadScope scope{slicing.inner_threads()};
  const std::int64_t rows = slicing.images * p.rows;
  auto weight = weight_of(p, forward, p.computed);
  weight.packed = packs(lowering, node, p);
  return {lowering.library,
          {rows, weight.rows, false, p.computed},
          weight,
          {rows, weight.columns, false, p.computed},
          slicing.side_by_side ? ProductTeam::alone : ProductTeam::together,
          {.bias = p.bias}};
}

/// Returns a copy in the type of the product, if that is not the parameter's.
Result<const ParameterCopy*> plain_copy(Lowering& lowering, const Node& node,
                                        const ProductProblem& p) {
  const auto parameter = node.inputs[1];
  return lowering.copy_of(parameter, plain_weights(lowering.graph[parameter].shape, p.computed),
                          p.stored);
}

template <class T>
void gather_images(const PixelGrid& g, std::int64_t images, const T* from, T* to) {
  for (std::int64_t i = 0; i < images; ++i, from += g.elements())
    for (std::int64_t h = 0; h < g.out_height(); ++h)
      for (std::int64_t w = 0; w < g.out_width(); ++w, to += g.channels)
        std::copy_n(from + (h * g.width + w) * g.stride * g.channels, g.channels, to);
}

/// The inverse of gather_images(); pixels in between become zero.
template <class T>
void scatter_images(const PixelGrid& g, std::int64_t images, const T* from, T* to) {
  for (std::int64_t i = 0; i < images; ++i)
    for (std::int64_t h = 0; h < g.height; ++h)
      for (std::int64_t w = 0; w < g.width; ++w, to += g.channels)
        if (h % g.stride == 0 && w % g.stride == 0) {
          std::copy_n(from, g.channels, to);
          from += g.channels;
        } else {
          std::memset(static_cast<void*>(to), 0, static_cast<std::size_t>(g.channels) * sizeof(T));
        }
}

/// Multiplies an activation (or its gradient) by the weight, slice by slice.
class ProductBySlices : public Step, public SliceProducer {
public:
  bool writes_slices() const override { return slicing_.side_by_side; }
  bool by_library_threads() const override { return !slicing_.side_by_side; }

protected:
  ProductBySlices(const Lowering& lowering, const Node& node, const ProductProblem& problem,
                  Direction direction)
      : node_{node}, problem_{problem}, slicing_{slice(problem, lowering.options.threads)},
        product_{slice_product(lowering, node, problem, slicing_, direction == Direction::forward)},
        library_bytes_{aligned(product_.scratchpad_bytes())} {
    operations = problem.operations();
  }

  /// Rows of a slice.
  std::int64_t rows_of_slice() const { return slicing_.images * problem_.rows; }
  std::size_t slice_bytes() const { return library_bytes_ + x_bytes_ + y_bytes_; }

  Node node_;
  ProductProblem problem_;
  const ParameterCopy* weights_ = nullptr; ///< null: the parameter itself is read
  Slicing slicing_;
  MatrixProduct product_;
  std::size_t library_bytes_, x_bytes_ = 0, y_bytes_ = 0;
};

/// y = x * weight^T [+ bias].
class ProductForward final : public ProductBySlices {
public:
  ProductForward(const Lowering& lowering, const Node& node, const ProductProblem& problem)
      : ProductBySlices{lowering, node, problem, Direction::forward} {
    // Gathered pixels, then their f32 values; each has a place only if needed.
    if (problem.grid)
      x_bytes_ += aligned(bytes_of(rows_of_slice() * problem.in, problem.stored));
    if (problem.widens())
      x_bytes_ += aligned(bytes_of(rows_of_slice() * problem.in, problem.computed));
    y_bytes_ =
        problem.widens() ? aligned(bytes_of(rows_of_slice() * problem.out, problem.computed)) : 0;
    name = "product " + product_.implementation();
  }

  /// Finds or makes the weight in the layout that the product reads.
  Status take_weights(Lowering& lowering) {
    if (!packs(lowering, node_, problem_)) {
      TROUPE_TRY(weights_, plain_copy(lowering, node_, problem_));
      return {};
    }
    TROUPE_TRY(weights_,
               lowering.copy_of(node_.inputs[1], describe(weight_of(problem_, true, DType::f32)),
                                product_.packed_layout(), problem_.stored));
    return {};
  }

  std::size_t scratch_bytes() const override { return slicing_.workers() * slice_bytes(); }

  Status run(const Frame& frame) override {
    auto* const x = frame.data<std::byte>(node_.inputs[0]);
    auto* const y = frame.data<std::byte>(node_.outputs[0]);
    auto* const weights = weights_ ? weights_->data() : frame.data<std::byte>(node_.inputs[1]);
    const auto* const bias = problem_.bias ? frame.data<float>(node_.inputs[2]) : nullptr;
    const std::int64_t rows = rows_of_slice();
    begin_consumers(frame, slicing_.workers());
    for_slices(slicing_, [&](std::int64_t index, std::size_t worker) {
      std::byte* const library = frame.scratch() + worker * slice_bytes();
      std::byte* place = library + library_bytes_;
      std::byte* from =
          x + bytes_of(index * slicing_.images * problem_.x_elements(), problem_.stored);
      std::byte* const to = y + bytes_of(index * rows * problem_.out, problem_.stored);
      if (problem_.grid) {
        gather_images(problem_, slicing_.images, from, place);
        from = place;
        place += aligned(bytes_of(rows * problem_.in, problem_.stored));
      }
      const auto written = static_cast<std::size_t>(index * rows * problem_.out);
      const auto next = written + static_cast<std::size_t>(rows * problem_.out);
      if (!problem_.widens()) {
        product_.run(from, weights, to, library, bias);
        hand_on(frame, worker, written, next);
        return;
      }
      auto* const wide_x = reinterpret_cast<float*>(place);
      auto* const wide_y = reinterpret_cast<float*>(library + library_bytes_ + x_bytes_);
      widen_slice(slicing_, problem_.stored, from, wide_x,
                  static_cast<std::size_t>(rows * problem_.in));
      product_.run(wide_x, weights, wide_y, library);
      narrow_slice(slicing_, problem_.stored, wide_y, to,
                   static_cast<std::size_t>(rows * problem_.out));
      hand_on(frame, worker, written, next);
    });
    return {};
  }
};

/// dx = dy * weight.
class ProductBackwardData final : public ProductBySlices {
public:
  ProductBackwardData(const Lowering& lowering, const Node& node, const ProductProblem& problem)
      : ProductBySlices{lowering, node, problem, Direction::backward_data} {
    // dy in f32; with a stride, dx in its stored type reuses this place.
    if (problem.widens())
      y_bytes_ = aligned(std::max(bytes_of(rows_of_slice() * problem.out, problem.computed),
                                  bytes_of(rows_of_slice() * problem.in, problem.stored)));
    if (problem.widens() || problem.grid)
      x_bytes_ = aligned(bytes_of(rows_of_slice() * problem.in, problem.computed));
    name = "product backward data " + product_.implementation();
  }

  Status take_weights(Lowering& lowering) {
    if (packs(lowering, node_, problem_)) {
      packing_.emplace(lowering.library, weight_of(problem_, false, DType::f32),
                       product_.packed_layout());
      return {};
    }
    TROUPE_TRY(weights_, plain_copy(lowering, node_, problem_));
    return {};
  }

  std::size_t scratch_bytes() const override {
    return packed_bytes() + slicing_.workers() * slice_bytes();
  }

  Status run(const Frame& frame) override {
    auto* const dy = frame.data<std::byte>(node_.inputs[0]);
    auto* const dx = frame.data<std::byte>(node_.outputs[0]);
    auto* const weight = weights(frame);
    const std::int64_t rows = rows_of_slice();
    const auto in_elements = static_cast<std::size_t>(rows * problem_.in);
    const auto out_elements = static_cast<std::size_t>(rows * problem_.out);
    begin_consumers(frame, slicing_.workers());
    for_slices(slicing_, [&](std::int64_t index, std::size_t worker) {
      std::byte* const library = frame.scratch() + packed_bytes() + worker * slice_bytes();
      std::byte* from = dy + bytes_of(index * rows * problem_.out, problem_.stored);
      std::byte* const to =
          dx + bytes_of(index * slicing_.images * problem_.x_elements(), problem_.stored);
      std::byte* result = x_bytes_ > 0 ? library + library_bytes_ : to;
      if (problem_.widens()) {
        auto* const wide = reinterpret_cast<float*>(library + library_bytes_ + x_bytes_);
        widen_slice(slicing_, problem_.stored, from, wide, out_elements);
        from = reinterpret_cast<std::byte*>(wide);
      }
      product_.run(from, weight, result, library);
      if (problem_.widens()) {
        std::byte* const narrowed = problem_.grid ? from : to;
        narrow_slice(slicing_, problem_.stored, reinterpret_cast<const float*>(result), narrowed,
                     in_elements);
        result = narrowed;
      }
      if (problem_.grid)
        with_element(problem_.stored, [&]<class T>(T) {
          scatter_images(*problem_.grid, slicing_.images, reinterpret_cast<const T*>(result),
                         reinterpret_cast<T*>(to));
        });
      const auto slice_elements = static_cast<std::size_t>(slicing_.images * problem_.x_elements());
      const auto written = static_cast<std::size_t>(index) * slice_elements;
      hand_on(frame, worker, written, written + slice_elements);
    });
    return {};
  }

private:
  std::size_t packed_bytes() const { return packing_ ? packing_->bytes() : 0; }

  std::byte* weights(const Frame& frame) const {
    auto* const parameter = frame.data<std::byte>(node_.inputs[1]);
    if (!packing_)
      return weights_ ? weights_->data() : parameter;
    packing_->run(parameter, frame.scratch());
    return frame.scratch();
  }

  std::optional<WeightPacking> packing_; ///< packs the parameter for each run, in place of a copy
};

template <class Product>
Result<StepPtr> lower_with_weights(Lowering& lowering, const Node& node,
                                   const ProductProblem& problem) {
  auto product = std::make_unique<Product>(lowering, node, problem);
  TROUPE_TRY(product->take_weights(lowering));
  return product;
}

} // namespace

void gather_images(const ProductProblem& p, std::int64_t images, const std::byte* from,
                   std::byte* to) {
  with_element(p.stored, [&]<class T>(T) {
    gather_images(*p.grid, images, reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to));
  });
}

Result<StepPtr> lower_product(Lowering& lowering, const Node& node, const ProductProblem& problem,
                              Direction direction) {
  if (direction == Direction::backward_weight)
    return lower_weight_product(lowering, node, problem);
  if (direction == Direction::forward)
    return lower_with_weights<ProductForward>(lowering, node, problem);
  return lower_with_weights<ProductBackwardData>(lowering, node, problem);
}

} // namespace troupe::cpu
