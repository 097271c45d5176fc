/// State shared by the nodes of a graph during lowering: the library, how parameters are stored,
/// and copies of them in other layouts. Steps that are functions.
#pragma once

#include "cpu/engines.hpp"
#include "cpu/host_device.hpp"
#include "cpu/kernels/kernels.hpp"
#include "cpu/onednn/detail/primitives.hpp"
#include "cpu/onednn/detail/step.hpp"
#include "cpu/parallel.hpp"

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::cpu {

using StepPtr = std::unique_ptr<Step>;

/// A copy of a parameter in another layout or type, in f32 rounded to another type, or transformed.
/// Made again when the parameter has changed.
class ParameterCopy {
public:
  /// Writes the copy of a parameter, with the whole team.
  using Make = std::function<void(std::byte* parameter, std::byte* copy)>;

  ParameterCopy(TensorId parameter, Make make, BufferPtr storage)
      : parameter_{parameter}, make_{std::move(make)}, storage_{std::move(storage)} {}
  TensorId parameter() const { return parameter_; }
  std::byte* data() const { return storage_->data(); }
  void refresh(const Frame& frame) const {
    make_(frame.data<std::byte>(parameter_), storage_->data());
  }

private:
  TensorId parameter_;
  Make make_;
  BufferPtr storage_;
};

/// A batch norm's y = x * factor + offset of the last forward, per column.
struct ColumnAffine {
  std::vector<float> factor, offset;
};

class Lowering {
public:
  static Result<std::unique_ptr<Lowering>> make(HostDevice& device, const Graph& graph,
                                                const CompileOptions& options, Bf16Mode bf16);

  const Graph& graph;
  const CompileOptions& options;
  Library library;
  bool widen_bf16 = false; ///< see Bf16Mode
  StorageLayout layout;
  std::vector<Place> places;
  std::size_t own_bytes = 0; ///< of activations that the memory plan left out
  std::vector<std::unique_ptr<ParameterCopy>> copies;
  std::map<TensorId, std::shared_ptr<ColumnAffine>> affines; ///< by saved mean

  /// The layout in which a weight's parameter is stored.
  const dnnl::memory::desc& stored(TensorId parameter) const { return stored_.at(parameter); }
  /// Returns the parameter in the wanted layout, as multiplied with activations of this type; null
  /// if it is stored in that form. `from`: the layout in which it, or its transpose, is stored.
  Result<const ParameterCopy*> copy_of(TensorId parameter, const dnnl::memory::desc& from,
                                       const dnnl::memory::desc& wanted, DType activations);
  Result<const ParameterCopy*> copy_of(TensorId parameter, const dnnl::memory::desc& wanted,
                                       DType activations) {
    return copy_of(parameter, stored(parameter), wanted, activations);
  }
  /// Returns a new copy of `bytes` bytes.
  Result<const ParameterCopy*> copy_of(TensorId parameter, std::size_t bytes,
                                       ParameterCopy::Make make);
  /// Returns the type in which a node's matrix work is computed.
  DType compute_type(DType activations) const {
    const bool widens = activations == DType::f16 || (activations == DType::bf16 && widen_bf16);
    return widens ? DType::f32 : activations;
  }

private:
  /// Copies that other nodes may reuse.
  struct Reordered {
    TensorId parameter;
    dnnl::memory::desc layout;
    DType values;
    const ParameterCopy* copy;
  };

  Lowering(HostDevice& device, const Graph& graph_, const CompileOptions& options_)
      : graph{graph_}, options{options_}, device_{device} {}
  void store_parameters();
  Status take_layout(const StorageLayout& given);

  dnnl::memory::desc choose_layout(TensorId parameter) const;

  HostDevice& device_;
  std::map<TensorId, dnnl::memory::desc> stored_;
  std::vector<Reordered> reordered_;
};

/// Makes a StepOf<T>, where T is the element type of a floating-point dtype.
template <template <class> class StepOf, class... Arguments>
StepPtr typed_step(DType dtype, Arguments&&... arguments) {
  return with_element(dtype, [&]<class T>(T) -> StepPtr {
    return std::make_unique<StepOf<T>>(std::forward<Arguments>(arguments)...);
  });
}

using NodeFrame = OfNode<Frame>;

/// Calls run(NodeFrame), which returns a status and may keep state between runs.
template <class Run>
class FunctionStep final : public Step {
public:
  FunctionStep(const Node& node, std::size_t scratch, Run run)
      : node_{node}, scratch_{scratch}, run_{std::move(run)} {}
  Status run(const Frame& frame) override { return run_(NodeFrame{frame, node_}); }
  std::size_t scratch_bytes() const override { return scratch_; }

private:
  Node node_;
  std::size_t scratch_;
  Run run_;
};

/// `bytes`: read and written by one run. `scratch`: bytes of scratch memory.
template <class Run>
StepPtr function_step(const Node& node, double bytes, std::size_t scratch, Run run) {
  auto step = std::make_unique<FunctionStep<Run>>(node, scratch, std::move(run));
  step->name = to_string(node.op);
  step->bytes = bytes;
  return step;
}

/// Calls work(frame, begin, end) for ranges of `count` elements or rows.
template <class Work>
StepPtr parallel_step(const Node& node, double bytes, std::size_t count, std::size_t grain,
                      Work work) {
  return function_step(
      node, bytes, 0, [count, grain, work = std::move(work)](const NodeFrame& frame) -> Status {
        parallel_for(count, grain,
                     [&](std::size_t begin, std::size_t end) { work(frame, begin, end); });
        return {};
      });
}

/// One of a layer's three products of activations and weights.
enum class Direction : std::uint8_t { forward, backward_data, backward_weight };

ConvolutionProblem convolution_problem(const Graph& graph, const Node& node, Direction direction);
Epilogue epilogue_of(const MemoryPlan& plan, const Node& convolution);
/// 1x1 convolutions without padding are matrix products.
bool is_pointwise(const Node& node);
Result<StepPtr> lower_pointwise(Lowering& lowering, const Node& node, Direction direction);

/// Lowers one op: a function with its name for each.
#define TROUPE_OP(name) Result<StepPtr> lower_##name(Lowering& lowering, const Node& node);
#include "core/graph/ops.def"
#undef TROUPE_OP

/// The error for a node that only passes for other devices create.
Error unsupported(const Graph& graph, const Node& node);

/// Calls the function of the node's op. Exceptions of the library become errors.
Result<StepPtr> lower(Lowering& lowering, const Node& node);

} // namespace troupe::cpu
