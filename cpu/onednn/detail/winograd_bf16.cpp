#include "core/fail.hpp"
#include "cpu/onednn/detail/convert.hpp"
#include "cpu/onednn/detail/instruction_set.hpp"
#include "cpu/onednn/detail/slices.hpp"
#include "cpu/onednn/detail/winograd.hpp"

namespace troupe::cpu {

namespace {

WinogradShape shape_of(const ConvolutionProblem& p) {
  return {static_cast<std::size_t>(p.height), static_cast<std::size_t>(p.width),
          static_cast<std::size_t>(p.in), static_cast<std::size_t>(p.out)};
}

std::size_t transformed_elements(const WinogradShape& s) {
  return winograd_bf16_points * s.in * s.out;
}

/// y = x * weights [+ bias] [+ residual], clipped at 0 if relu.
class WinogradBf16 final : public Step {
public:
  WinogradBf16(const Node& node, const ConvolutionProblem& p, const ParameterCopy& weights,
               const Epilogue& epilogue, int threads)
      : node_{node}, shape_{shape_of(p)}, weights_{&weights}, epilogue_{epilogue},
        threads_{static_cast<std::size_t>(threads)}, tiles_{(shape_.height + 1) / 2 *
                                                            ((shape_.width + 1) / 2)},
        x_elements_{p.x_elements()}, y_elements_{p.y_elements()},
        slicing_{slice_batch(p.batch, (x_elements_ + y_elements_) * sizeof(Bf16),
                             transformed_elements(shape_) * sizeof(Bf16), threads)},
        block_bytes_{aligned(kernels().winograd_bf16_scratch(shape_))} {
    name = "conv2d winograd bf16";
    operations = p.operations();
  }

  std::size_t scratch_bytes() const override { return threads_ * block_bytes_; }

  Status run(const Frame& frame) override {
    const std::size_t tiles = static_cast<std::size_t>(slicing_.images) * tiles_;
    for_slices(slicing_, [&](std::int64_t slice, std::size_t worker) {
      const std::size_t first = static_cast<std::size_t>(slice * slicing_.images);
      if (slicing_.side_by_side)
        return convolve(frame, first, worker, 0, tiles);
      parallel_parts(threads_, [&](std::size_t who, std::size_t parts) {
        convolve(frame, first, who, tiles * who / parts, tiles * (who + 1) / parts);
      });
    });
    return {};
  }

private:
  /// Convolves tiles [begin, end) of the images from `first` on.
  void convolve(const Frame& frame, std::size_t first, std::size_t who, std::size_t begin,
                std::size_t end) const {
    const auto images = [&](std::size_t tensor, std::size_t elements) {
      return frame.data<Bf16>(node_.inputs[tensor]) + first * elements;
    };
    kernels().winograd_bf16_convolve(shape_, images(0, x_elements_),
                                     reinterpret_cast<const Bf16*>(weights_->data()),
                                     {.y = frame.data<Bf16>(node_.outputs[0]) + first * y_elements_,
                                      .bias = frame.data<float>(node_.inputs[2]),
                                      .residual = epilogue_.add ? images(3, y_elements_) : nullptr,
                                      .relu = epilogue_.relu},
                                     frame.scratch() + who * block_bytes_, begin, end);
  }

  Node node_;
  WinogradShape shape_;
  const ParameterCopy* weights_;
  Epilogue epilogue_;
  std::size_t threads_, tiles_, x_elements_, y_elements_; ///< all but the first: of one image
  Slicing slicing_;
  std::size_t block_bytes_;
};

} // namespace

bool may_be_winograd_bf16(const ConvolutionProblem& p, const Epilogue& epilogue) {
  // Batch norms are folded into biases only for inference.
  return epilogue.bias && p.activations == DType::bf16 && p.kernel == 3 && p.stride == 1 &&
         p.padding == 1 && p.in % 32 == 0 && p.out % 16 == 0 && best_are_bf16_dot_products();
}

bool suits_winograd_bf16(const Lowering& lowering, const Node& node,
                         const ConvolutionProblem& problem, Direction direction) {
  return direction == Direction::forward &&
         may_be_winograd_bf16(problem, epilogue_of(lowering.options.memory, node)) &&
         lowering.stored(node.inputs[1]) == winograd_weights(problem);
}

Result<StepPtr> lower_winograd_bf16(Lowering& lowering, const Node& node) {
  const auto problem = convolution_problem(lowering.graph, node, Direction::forward);
  const auto shape = shape_of(problem);
  const auto transform = [shape](std::byte* weights, std::byte* copy) {
    parallel_for(shape.in, 16, [&](std::size_t begin, std::size_t end) {
      kernels().winograd_bf16_weights(shape, reinterpret_cast<const float*>(weights),
                                      reinterpret_cast<Bf16*>(copy), begin, end);
    });
  };
  TROUPE_TRY(
      const auto* const weights,
      lowering.copy_of(node.inputs[1], transformed_elements(shape) * sizeof(Bf16), transform));
  return std::make_unique<WinogradBf16>(node, problem, *weights,
                                        epilogue_of(lowering.options.memory, node),
                                        lowering.options.threads);
}

} // namespace troupe::cpu
