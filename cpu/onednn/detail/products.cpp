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

/// y = x * weight^T [+ bias], or dx = dy * weight: one activation from another, slice by slice.
class ProductBySlices final : public Step, public SliceProducer {
public:
  ProductBySlices(const Lowering& lowering, const Node& node, const ProductProblem& problem,
                  bool forward)
      : node_{node}, problem_{problem}, forward_{forward}, slicing_{slice(
                                                               problem, lowering.options.threads)},
        product_{slice_product(lowering, node, problem, slicing_, forward)},
        library_bytes_{aligned(product_.scratchpad_bytes())} {
    const std::int64_t rows = slicing_.images * problem.rows;
    const std::int64_t all = slicing_.images * problem.x_elements();
    from_ = {rows * (forward ? problem.in : problem.out), forward ? all : rows * problem.out};
    to_ = {rows * (forward ? problem.out : problem.in), forward ? rows * problem.out : all};
    const std::size_t pixels =
        problem.grid ? aligned(bytes_of(rows * problem.in, problem.stored)) : 0;
    if (problem.widens()) {
      // The pixels of dx reuse the place of dy.
      const auto wide = aligned(bytes_of(from_.multiplied, problem.computed));
      wide_from_bytes_ = forward ? wide : std::max(wide, pixels);
      wide_to_bytes_ = aligned(bytes_of(to_.multiplied, problem.computed));
    }
    pixel_bytes_ = forward || !problem.widens() ? pixels : 0;
    name = (forward ? "product " : "product backward data ") + product_.implementation();
    operations = problem.operations();
  }

  /// Finds or makes the weight in the layout that the product reads.
  Status take_weights(Lowering& lowering) {
    const auto parameter = node_.inputs[1];
    const auto weight = weight_of(problem_, forward_, DType::f32);
    if (!packs(lowering, node_, problem_)) {
      TROUPE_TRY(weights_,
                 lowering.copy_of(parameter,
                                  plain_weights(lowering.graph[parameter].shape, problem_.computed),
                                  problem_.stored));
    } else if (forward_) {
      TROUPE_TRY(weights_, lowering.copy_of(parameter, describe(weight), product_.packed_layout(),
                                            problem_.stored));
    } else {
      packing_.emplace(lowering.library, weight, product_.packed_layout());
    }
    return {};
  }

  bool writes_slices() const override { return slicing_.side_by_side; }
  bool by_library_threads() const override { return !slicing_.side_by_side; }
  std::size_t scratch_bytes() const override {
    return packed_bytes() + slicing_.workers() * slice_bytes();
  }

  Status run(const Frame& frame) override {
    auto* const input = frame.data<std::byte>(node_.inputs[0]);
    auto* const output = frame.data<std::byte>(node_.outputs[0]);
    auto* const weight = weights(frame);
    const auto* const bias = problem_.bias ? frame.data<float>(node_.inputs[2]) : nullptr;
    const auto written = static_cast<std::size_t>(to_.stored);
    begin_consumers(frame, slicing_.workers());
    for_slices(slicing_, [&](std::int64_t index, std::size_t worker) {
      std::byte* const library = frame.scratch() + packed_bytes() + worker * slice_bytes();
      std::byte* const pixels = library + library_bytes_;
      std::byte* from = input + bytes_of(index * from_.stored, problem_.stored);
      std::byte* const to = output + bytes_of(index * to_.stored, problem_.stored);
      if (problem_.grid && forward_) {
        gather_images(problem_, slicing_.images, from, pixels);
        from = pixels;
      }
      std::byte* const result = problem_.grid && !forward_ ? pixels : to;
      if (problem_.widens())
        multiply_wide(from, weight, result, library);
      else
        product_.run(from, weight, result, library, bias);
      if (result != to)
        with_element(problem_.stored, [&]<class T>(T) {
          scatter_images(*problem_.grid, slicing_.images, reinterpret_cast<const T*>(result),
                         reinterpret_cast<T*>(to));
        });
      const auto first = static_cast<std::size_t>(index) * written;
      hand_on(frame, worker, first, first + written);
    });
    return {};
  }

private:
  /// Elements of a slice of one activation.
  struct Elements {
    std::int64_t multiplied, stored; ///< stored: with the pixels between those of the grid
  };

  std::size_t packed_bytes() const { return packing_ ? packing_->bytes() : 0; }
  /// Scratch of a worker: the library's, then pixels without those between, then f32 values of both
  /// activations. Each has a place only if needed.
  std::size_t slice_bytes() const {
    return library_bytes_ + pixel_bytes_ + wide_from_bytes_ + wide_to_bytes_;
  }

  std::byte* weights(const Frame& frame) const {
    auto* const parameter = frame.data<std::byte>(node_.inputs[1]);
    if (!packing_)
      return weights_ ? weights_->data() : parameter;
    packing_->run(parameter, frame.scratch());
    return frame.scratch();
  }

  /// Casts to f32 and back. `result` may be where the cast values were.
  void multiply_wide(const std::byte* from, const std::byte* weight, std::byte* result,
                     std::byte* library) const {
    std::byte* const place = library + library_bytes_ + pixel_bytes_;
    auto* const wide_from = reinterpret_cast<float*>(place);
    auto* const wide_to = reinterpret_cast<float*>(place + wide_from_bytes_);
    widen_slice(slicing_, problem_.stored, from, wide_from,
                static_cast<std::size_t>(from_.multiplied));
    product_.run(wide_from, weight, wide_to, library);
    narrow_slice(slicing_, problem_.stored, wide_to, result,
                 static_cast<std::size_t>(to_.multiplied));
  }

  Node node_;
  ProductProblem problem_;
  bool forward_;
  Slicing slicing_;
  MatrixProduct product_;
  Elements from_{}, to_{};
  const ParameterCopy* weights_ = nullptr; ///< null: the parameter itself is read, or packed
  std::optional<WeightPacking> packing_;   ///< packs the parameter in each run; no copy is kept
  std::size_t library_bytes_, pixel_bytes_ = 0, wide_from_bytes_ = 0, wide_to_bytes_ = 0;
};

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
  auto product =
      std::make_unique<ProductBySlices>(lowering, node, problem, direction == Direction::forward);
  TROUPE_TRY(product->take_weights(lowering));
  return product;
}

} // namespace troupe::cpu
