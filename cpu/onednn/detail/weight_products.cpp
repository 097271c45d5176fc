#include "cpu/kernels/kernels.hpp"
#include "cpu/onednn/detail/convert.hpp"
#include "cpu/onednn/detail/matrix_product.hpp"
#include "cpu/onednn/detail/products.hpp"
#include "cpu/parallel.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

/// dweight = dy^T * x, on the whole batch.
class ProductBackwardWeights final : public Step {
public:
  ProductBackwardWeights(const Lowering& lowering, const Node& node, const ProductProblem& problem)
      : node_{node}, problem_{problem}, product_{[&] {
          const ThreadScope scope{lowering.options.threads};
          const std::int64_t rows = problem.images * problem.rows;
          return MatrixProduct{lowering.library,
                               {problem.out, rows, true, problem.computed},
                               {rows, problem.in, false, problem.computed},
                               {problem.out, problem.in, false, DType::f32}};
        }()} {
    const std::int64_t rows = problem.images * problem.rows;
    x_ = {problem.stored, problem.widens(), static_cast<std::size_t>(rows * problem.in)};
    y_ = {problem.stored, problem.widens(), static_cast<std::size_t>(rows * problem.out)};
    library_bytes_ = aligned(product_.scratchpad_bytes());
    pixel_bytes_ = problem.grid ? aligned(bytes_of(rows * problem.in, problem.stored)) : 0;
    name = "product backward weights " + product_.implementation();
    operations = problem.operations();
  }

  bool by_library_threads() const override { return true; }
  std::size_t scratch_bytes() const override {
    return library_bytes_ + pixel_bytes_ + x_.bytes() + y_.bytes();
  }

  Status run(const Frame& frame) override {
    auto* x = frame.data<std::byte>(node_.inputs[1]);
    std::byte* const library = frame.scratch();
    std::byte* const pixels = library + library_bytes_;
    if (problem_.grid) {
      const auto from = bytes_of(problem_.x_elements(), problem_.stored);
      const auto to = bytes_of(problem_.rows * problem_.in, problem_.stored);
      parallel_for(static_cast<std::size_t>(problem_.images), 1,
                   [&](std::size_t begin, std::size_t end) {
                     gather_images(problem_, static_cast<std::int64_t>(end - begin),
                                   x + begin * from, pixels + begin * to);
                   });
      x = pixels;
    }
    std::byte* const wide = pixels + pixel_bytes_;
    x = x_.read(x, wide);
    auto* const dy = y_.read(frame.data<std::byte>(node_.inputs[0]), wide + x_.bytes());
    product_.run(dy, x, frame.data<std::byte>(node_.outputs[0]), library);
    return {};
  }

private:
  Node node_;
  ProductProblem problem_;
  MatrixProduct product_;
  ReadTensor x_{}, y_{}; ///< y_: dy
  std::size_t library_bytes_, pixel_bytes_;
};

/// dweight = dy^T * x by our kernels (kernels/weight_gradient_amx.cpp). For a chunk of rows at a
/// time, threads pack x together, and then each multiplies blocks of dweight's rows.
class GradientByTiles final : public Step {
public:
  GradientByTiles(const Lowering& lowering, const Node& node, const ProductProblem& p)
      : node_{node}, rows_{static_cast<std::size_t>(p.images * p.rows)},
        in_{static_cast<std::size_t>(p.in)}, out_{static_cast<std::size_t>(p.out)} {
    const auto threads = static_cast<std::size_t>(lowering.options.threads);
    const std::size_t blocks = threads * divide_up(out_, threads * Kernel::most_outputs);
    block_ = divide_up(divide_up(out_, blocks), outputs_unit) * outputs_unit;
    parts_ = divide_up(out_, block_);
    lanes_ = std::min(threads, parts_);
    name = "product backward weights tiles";
    operations = p.operations();
  }

  /// Bytes of the packed rows, of each lane's scratch, and of each block's sums.
  std::size_t scratch_bytes() const override {
    return packed_bytes() + lanes_ * lane_bytes() + parts_ * sums_bytes();
  }

  Status run(const Frame& frame) override {
    for (std::size_t first = 0; first < rows_; first += Kernel::most_rows)
      add_rows(frame, first, std::min(Kernel::most_rows, rows_ - first));
    return {};
  }

private:
  using Kernel = WeightGradientKernels;
  static constexpr std::size_t outputs_unit = 32;

  static const Kernel& kernel() { return kernels().weight_gradient; }
  static std::size_t bytes_of(std::size_t floats) { return aligned(floats * sizeof(float)); }
  std::size_t packed_bytes() const { return bytes_of(kernel().packed_floats(in_)); }
  std::size_t lane_bytes() const { return bytes_of(kernel().scratch_floats()); }
  std::size_t sums_bytes() const { return bytes_of(kernel().sums_floats(in_)); }

  void add_rows(const Frame& frame, std::size_t first, std::size_t count) const {
    const ActivationRows dy{frame.data<Bf16>(node_.inputs[0]) + first * out_, count, out_};
    const ActivationRows x{frame.data<Bf16>(node_.inputs[1]) + first * in_, count, in_};
    auto* const packed = floats(frame, 0);
    parallel_for(count, Kernel::row_block,
                 [&](std::size_t begin, std::size_t end) { kernel().pack(x, packed, begin, end); });
    const bool last = first + count == rows_;
    auto* const dweight = last ? frame.data<float>(node_.outputs[0]) : nullptr;
    parallel_lanes(lanes_, parts_, [&](std::size_t part, std::size_t lane) {
      const GradientBlock block{
          .first = part * block_,
          .count = std::min(block_, out_ - part * block_),
          .sums = floats(frame, packed_bytes() + lanes_ * lane_bytes() + part * sums_bytes()),
          .add = first > 0,
          .dweight = dweight};
      kernel().multiply(dy, packed, in_, block,
                        floats(frame, packed_bytes() + lane * lane_bytes()));
    });
  }

  static float* floats(const Frame& frame, std::size_t at) {
    return reinterpret_cast<float*>(frame.scratch() + at);
  }

  Node node_;
  std::size_t rows_, in_, out_;
  std::size_t block_, parts_, lanes_; ///< rows of dweight in a block; blocks; lanes
};

/// Whether the operands are stored in the type and layout of the product, and the processor has
/// tiles.
bool has_gradient_tiles(const ProductProblem& problem) {
  return problem.computed == DType::bf16 && !problem.grid && kernels().weight_gradient.multiply;
}

} // namespace

StepPtr lower_weight_product(const Lowering& lowering, const Node& node,
                             const ProductProblem& problem) {
  if (has_gradient_tiles(problem))
    return std::make_unique<GradientByTiles>(lowering, node, problem);
  return std::make_unique<ProductBackwardWeights>(lowering, node, problem);
}

} // namespace troupe::cpu
