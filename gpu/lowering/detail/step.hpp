/// One lowered node of the graph: the work that is enqueued for it.
#pragma once

#include "core/device/placement.hpp"
#include "gpu/alignment.hpp"
#include "gpu/cuda_stream.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

namespace troupe::gpu {

/// The stream that a step enqueues on, and the addresses of its tensors.
struct Launch {
  cudaStream_t stream;
  const Frame& frame;
  const ReductionScratch& reductions;
  /// By unit: copies of the parameters in the type of activations; null without copies.
  std::byte* const* copies;
  /// Weight gradients of the unit that is running backward, in the type in which they were computed
  /// (narrow_gradients.hpp).
  std::byte* staging;
  UpdateGate gate = {}; ///< for steps with sums over all ranks
  /// With GradientMode::add: the unit's gradients. The frame's are then fresh ones, which are added
  /// after the last step.
  float* sums = nullptr;

  template <class T = void>
  T* data(TensorId id) const {
    return reinterpret_cast<T*>(frame.data<std::byte>(id));
  }
  /// Returns the address to which a step adds a parameter's gradient
  /// (Lowering::add_without_copy); null if it writes the gradient to data().
  float* sum_of(TensorId gradient) const {
    return sums ? sums + (data<float>(gradient) - frame.binding().gradients) : nullptr;
  }
  /// Workspace of the running step: workspace_bytes() bytes, 256-byte aligned.
  std::byte* workspace() const { return frame.scratch(); }
};

using NodeLaunch = OfNode<Launch>;

class Step {
public:
  virtual ~Step() = default;
  virtual Status enqueue(const Launch& launch) = 0;
  virtual std::size_t workspace_bytes() const { return 0; }
  /// Returns how many doubles at the beginning of the workspace must be summed over all ranks
  /// before enqueue(); 0 for most steps. reduce() is called first and writes this rank's sums
  /// there.
  virtual std::size_t rank_sums() const { return 0; }
  virtual void reduce(const Launch&) {}
  /// For errors and profiles: the op, the engine, the shapes.
  std::string name;
  std::size_t node_index = 0; ///< in the graph
};
using StepPtr = std::unique_ptr<Step>;

/// A step that calls function(NodeLaunch), which returns nothing or a Status.
template <class Function>
class FunctionStep final : public Step {
public:
  FunctionStep(const Node& node, std::size_t workspace_bytes, Function function)
      : node_{node}, workspace_bytes_{workspace_bytes}, function_{std::move(function)} {
    name = to_string(node.op);
  }
  std::size_t workspace_bytes() const override { return workspace_bytes_; }
  Status enqueue(const Launch& launch) override {
    const NodeLaunch of_node{launch, node_};
    if constexpr (std::is_void_v<std::invoke_result_t<Function&, const NodeLaunch&>>) {
      function_(of_node);
      return {};
    } else {
      return function_(of_node);
    }
  }

private:
  Node node_;
  std::size_t workspace_bytes_;
  Function function_;
};

template <class Function>
StepPtr kernel_step(const Node& node, std::size_t workspace_bytes, Function function) {
  return std::make_unique<FunctionStep<Function>>(node, workspace_bytes, std::move(function));
}

template <class Function>
StepPtr kernel_step(const Node& node, Function function) {
  return kernel_step(node, 0, std::move(function));
}

} // namespace troupe::gpu
