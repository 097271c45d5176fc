// Convolutions, by oneDNN's direct implementations where neither our Winograd kernels nor our
// products suit them.
#include "core/fail.hpp"
#include "cpu/onednn/detail/convert.hpp"
#include "cpu/onednn/detail/finish_convolution.hpp"
#include "cpu/onednn/detail/panel_products.hpp"
#include "cpu/onednn/detail/slice_fusion.hpp"
#include "cpu/onednn/detail/slices.hpp"
#include "cpu/onednn/detail/winograd.hpp"
#include "cpu/onednn/lowering.hpp"

#include <array>

namespace troupe::cpu {

namespace {

/// y = x * weights, or dx from dy: one activation from another, slice by slice.
class ConvolveActivation final : public Step, public SliceProducer {
public:
  struct Role {
    int from, to; ///< the primitive's arguments
    std::size_t from_elements, to_elements;
    Epilogue epilogue = {};
    std::size_t channels = 0; ///< with an epilogue: of y
  };

  ConvolveActivation(const Node& node, DType dtype, bool widen, const Slicing& slicing,
                     Primitive primitive, const ParameterCopy* weights, const Role& role)
      : node_{node}, stored_{dtype}, widen_{widen}, slicing_{slicing},
        primitive_{std::move(primitive)}, weights_{weights}, role_{role}, finish_{node, dtype,
                                                                                  role.epilogue,
                                                                                  role.channels} {
    const auto images = static_cast<std::size_t>(slicing_.images);
    library_bytes_ = aligned(primitive_.scratchpad_bytes());
    const auto room = std::max(role.from_elements, role.epilogue.add ? role.to_elements : 0);
    from_bytes_ = widen ? aligned(images * room * sizeof(float)) : 0;
    to_bytes_ = widen ? aligned(images * role.to_elements * sizeof(float)) : 0;
    name = std::string{to_string(node.op)} + " " + primitive_.implementation();
  }

  bool writes_slices() const override { return slicing_.side_by_side; }

  std::size_t scratch_bytes() const override {
    return slicing_.workers() * (library_bytes_ + from_bytes_ + to_bytes_);
  }

  bool by_library_threads() const override { return !slicing_.side_by_side; }

  Status run(const Frame& frame) override {
    auto* const from = frame.data<std::byte>(node_.inputs[0]);
    auto* const to = frame.data<std::byte>(node_.outputs[0]);
    auto* const weights = weights_ ? weights_->data() : frame.data<std::byte>(node_.inputs[1]);
    const auto images = static_cast<std::size_t>(slicing_.images);
    const std::size_t size = size_of(stored_);
    const std::size_t from_elements = images * role_.from_elements;
    const std::size_t to_elements = images * role_.to_elements;
    begin_consumers(frame, slicing_.workers());
    for_slices(slicing_, [&](std::int64_t slice, std::size_t worker) {
      std::byte* const library =
          frame.scratch() + worker * (library_bytes_ + from_bytes_ + to_bytes_);
      const auto index = static_cast<std::size_t>(slice);
      std::byte* const x = from + index * from_elements * size;
      std::byte* const y = to + index * to_elements * size;
      if (widen_) {
        auto* const wide_x = reinterpret_cast<float*>(library + library_bytes_);
        auto* const wide_y = reinterpret_cast<float*>(library + library_bytes_ + from_bytes_);
        widen_slice(slicing_, stored_, x, wide_x, from_elements);
        primitive_.run({{role_.from, wide_x}, {DNNL_ARG_WEIGHTS, weights}, {role_.to, wide_y}},
                       library);
        finish_.run_wide(frame, slicing_, index * to_elements, {wide_y, to_elements}, wide_x);
        narrow_slice(slicing_, stored_, wide_y, y, to_elements);
      } else {
        convolve(frame, x, weights, y, index * to_elements, library);
      }
      hand_on(frame, worker, index * to_elements, (index + 1) * to_elements);
    });
    return {};
  }

private:
  /// `done`: elements of y before this slice's.
  void convolve(const Frame& frame, std::byte* x, std::byte* weights, std::byte* y,
                std::size_t done, std::byte* library) const {
    std::array<Operand, 5> operands{
        {{role_.from, x}, {DNNL_ARG_WEIGHTS, weights}, {role_.to, y}, {}, {}}};
    std::size_t count = 3;
    if (role_.epilogue.bias)
      operands[count++] = {DNNL_ARG_BIAS, frame.data<float>(node_.inputs[2])};
    if (role_.epilogue.add && !role_.epilogue.in_place)
      operands[count++] = {residual_argument,
                           frame.data<std::byte>(node_.inputs[3]) + done * size_of(stored_)};
    primitive_.run(std::span{operands}.first(count), library);
  }

  Node node_;
  DType stored_; ///< of the activations
  bool widen_;
  Slicing slicing_;
  Primitive primitive_;
  const ParameterCopy* weights_;
  Role role_;
  FinishConvolution finish_; ///< if activations are cast to f32: the library would see only f32
  std::size_t library_bytes_, from_bytes_, to_bytes_;
};

/// dweight from dy and x, on the whole batch: the library sums over it.
class ConvolveWeights final : public Step {
public:
  ConvolveWeights(const Node& node, DType stored, const ConvolutionProblem& problem,
                  Primitive primitive, std::optional<Primitive> store)
      : node_{node}, x_{stored, stored != problem.activations,
                        static_cast<std::size_t>(problem.batch) * problem.x_elements()},
        y_{stored, x_.widen, static_cast<std::size_t>(problem.batch) * problem.y_elements()},
        primitive_{std::move(primitive)}, store_{std::move(store)} {
    library_bytes_ =
        aligned(std::max(primitive_.scratchpad_bytes(), store_ ? store_->scratchpad_bytes() : 0));
    const auto& result = primitive_.description(DNNL_ARG_DIFF_WEIGHTS);
    result_bytes_ = store_ ? aligned(result.get_size()) : 0;
    name = std::string{to_string(node.op)} + " " + primitive_.implementation();
    operations = problem.operations();
  }

  std::size_t scratch_bytes() const override {
    return library_bytes_ + result_bytes_ + x_.bytes() + y_.bytes();
  }

  bool by_library_threads() const override { return true; }

  Status run(const Frame& frame) override {
    std::byte* const library = frame.scratch();
    std::byte* const result = library + library_bytes_;
    std::byte* const wide = result + result_bytes_;
    auto* const x = x_.read(frame.data<std::byte>(node_.inputs[1]), wide);
    auto* const dy = y_.read(frame.data<std::byte>(node_.inputs[0]), wide + x_.bytes());
    auto* const gradient = frame.data<std::byte>(node_.outputs[0]);
    primitive_.run({{DNNL_ARG_SRC, x},
                    {DNNL_ARG_DIFF_WEIGHTS, store_ ? result : gradient},
                    {DNNL_ARG_DIFF_DST, dy}},
                   library);
    if (store_)
      store_->run({{DNNL_ARG_FROM, result}, {DNNL_ARG_TO, gradient}}, library);
    return {};
  }

private:
  Node node_;
  ReadTensor x_, y_; ///< y_: dy
  Primitive primitive_;
  std::optional<Primitive> store_; ///< if the library's layout is not the parameter's
  std::size_t library_bytes_, result_bytes_;
};

auto no_implementation(const Lowering& lowering, const Node& node) {
  return fail(Errc::unsupported, "oneDNN has no {} for {} and {}", to_string(node.op),
              lowering.graph[node.inputs[0]].shape.to_string(),
              lowering.graph[node.inputs[1]].shape.to_string());
}

/// `problem` has the type in which activations are stored.
Result<StepPtr> lower_activation(Lowering& lowering, const Node& node, ConvolutionProblem problem,
                                 Direction direction) {
  const DType stored = problem.activations;
  problem.activations = lowering.compute_type(stored);
  const bool widen = stored != problem.activations;
  const auto x = problem.x_elements(), y = problem.y_elements();
  const double operations = problem.operations();
  const auto slicing = slice_batch(
      problem.batch, (x + y) * sizeof(float),
      static_cast<std::size_t>(problem.in * problem.out * problem.kernel * problem.kernel) *
          sizeof(float),
      lowering.options.threads);
  problem.batch = slicing.images;
  const ThreadScope scope{slicing.inner_threads()};
  const bool forward = direction == Direction::forward;
  const auto epilogue = forward ? epilogue_of(lowering.options.memory, node) : Epilogue{};
  const auto make = [&](const dnnl::memory::desc* weights) {
    return forward ? convolution_forward(lowering.library, problem, weights,
                                         widen ? Epilogue{} : epilogue)
                   : convolution_backward_data(lowering.library, problem, weights);
  };
  const auto parameter = node.inputs[1];
  // In f32 training, the parameter's own layout needs no copy, and is used unless the library has
  // only slow loops for it. All other cases copy the parameter, to the library's preferred layout.
  std::optional<Primitive> primitive;
  if (problem.activations == DType::f32 && !epilogue.bias)
    primitive = make(&lowering.stored(parameter));
  if (!primitive || primitive->is_reference())
    primitive = make(nullptr);
  if (!primitive)
    return no_implementation(lowering, node);
  TROUPE_TRY(const auto copy,
             lowering.copy_of(parameter, primitive->description(DNNL_ARG_WEIGHTS), stored));
  const auto channels = static_cast<std::size_t>(problem.out);
  const auto role =
      forward ? ConvolveActivation::Role{DNNL_ARG_SRC, DNNL_ARG_DST, x, y, epilogue, channels}
              : ConvolveActivation::Role{DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC, y, x};
  auto step = std::make_unique<ConvolveActivation>(node, stored, widen, slicing,
                                                   std::move(*primitive), copy, role);
  step->operations = operations;
  return step;
}

Result<StepPtr> lower_weights(Lowering& lowering, const Node& node, ConvolutionProblem problem) {
  const DType stored = problem.activations;
  problem.activations = lowering.compute_type(stored);
  const ThreadScope scope{lowering.options.threads};
  const auto& wanted = lowering.stored(lowering.graph[node.outputs[0]].of);
  auto primitive = convolution_backward_weights(lowering.library, problem, &wanted);
  if (!primitive || primitive->is_reference())
    primitive = convolution_backward_weights(lowering.library, problem, nullptr);
  if (!primitive)
    return no_implementation(lowering, node);
  const auto& given = primitive->description(DNNL_ARG_DIFF_WEIGHTS);
  std::optional<Primitive> store;
  if (given != wanted)
    store = reorder(lowering.library, given, wanted);
  return std::make_unique<ConvolveWeights>(node, stored, problem, std::move(*primitive),
                                           std::move(store));
}

Result<StepPtr> lower_convolution(Lowering& lowering, const Node& node, Direction direction) {
  const auto problem = convolution_problem(lowering.graph, node, direction);
  if (!suits_winograd(problem) && runs_on_panels(lowering, node, direction))
    return lower_panel_product(lowering, node, direction);
  if (is_pointwise(node) && !std::get<Conv2dAttributes>(node.attributes).bias)
    return lower_pointwise(lowering, node, direction);
  auto computed = problem;
  computed.activations = lowering.compute_type(problem.activations);
  if (suits_winograd(computed))
    return lower_winograd(lowering, node, direction);
  if (suits_winograd_bf16(lowering, node, computed, direction))
    return lower_winograd_bf16(lowering, node);
  return direction == Direction::backward_weight
             ? lower_weights(lowering, node, problem)
             : lower_activation(lowering, node, problem, direction);
}

} // namespace

ConvolutionProblem convolution_problem(const Graph& graph, const Node& node, Direction direction) {
  const auto& a = std::get<Conv2dAttributes>(node.attributes);
  const bool forward = direction == Direction::forward;
  const auto& x = graph[forward                                   ? node.inputs[0]
                        : direction == Direction::backward_weight ? node.inputs[1]
                                                                  : node.outputs[0]];
  const auto& y = graph[forward ? node.outputs[0] : node.inputs[0]];
  return {.batch = x.shape[0],
          .height = x.shape[1],
          .width = x.shape[2],
          .in = x.shape[3],
          .out = y.shape[3],
          .out_height = y.shape[1],
          .out_width = y.shape[2],
          .kernel = a.kernel,
          .stride = a.stride,
          .padding = a.padding,
          .activations = x.dtype};
}

Epilogue epilogue_of(const MemoryPlan& plan, const Node& convolution) {
  const auto& a = std::get<Conv2dAttributes>(convolution.attributes);
  const auto place = [&](TensorId id) {
    const auto i = static_cast<std::size_t>(id);
    return i < plan.offsets.size() ? plan.offsets[i] : MemoryPlan::not_in_arena;
  };
  const bool in_place = a.add && place(convolution.inputs[3]) != MemoryPlan::not_in_arena &&
                        place(convolution.inputs[3]) == place(convolution.outputs[0]);
  return {a.bias, a.add, a.relu, in_place};
}

bool is_pointwise(const Node& node) {
  const auto& a = std::get<Conv2dAttributes>(node.attributes);
  return a.kernel == 1 && a.padding == 0;
}

Result<StepPtr> lower_conv2d(Lowering& lowering, const Node& node) {
  return lower_convolution(lowering, node, Direction::forward);
}

Result<StepPtr> lower_conv2d_backward_data(Lowering& lowering, const Node& node) {
  return lower_convolution(lowering, node, Direction::backward_data);
}

Result<StepPtr> lower_conv2d_backward_weight(Lowering& lowering, const Node& node) {
  return lower_convolution(lowering, node, Direction::backward_weight);
}

} // namespace troupe::cpu
