/// State that lowering shares between the nodes of a graph: storage of parameters, placement of
/// tensors, and choices of cuDNN and cuBLASLt.
#pragma once

#include "gpu/cublas/matmul_plan_registry.hpp"
#include "gpu/cuda_device.hpp"
#include "gpu/device_rates.hpp"
#include "gpu/lowering/detail/step.hpp"
#include "gpu/lowering/narrow_gradients.hpp"
#include "gpu/lowering/plan_registry.hpp"

#include <optional>
#include <set>
#include <vector>

namespace troupe::gpu {

/// Locates a parameter for a node: the parameter itself, or its unit's copy in the type of
/// activations.
struct WeightView {
  TensorId parameter;
  UnitId unit;
  std::optional<std::size_t> offset = {}; ///< in the unit's copy, in bytes; empty: no copy

  void* data(const Launch& launch) const;
};

/// Whether an output is a parameter's gradient that no node reads: readers would need this pass's
/// values, without those of earlier passes.
bool is_final_gradient(const Graph& graph, TensorId output);

/// Workspace bytes of a matrix product: enough for the products of any head.
inline constexpr std::size_t product_workspace = std::size_t{32} << 20;

class Lowering {
public:
  /// Errors: unsupported if a library is missing; those of copy_types(); internal if plan or layout
  /// belong to another graph.
  static Result<std::unique_ptr<Lowering>> make(CudaDevice& device, const Graph& graph,
                                                const CompileOptions& options);

  const Graph& graph;
  const CompileOptions& options;
  StorageLayout layout;
  Placement placement;
  /// The device's; null for a graph without convolutions and attention, or if only attention would
  /// use it and cuDNN is missing.
  PlanRegistry* plans = nullptr;
  cudnn::PlanPolicy policy;                      ///< for plans
  std::vector<DType> copy_types;                 ///< by unit (storage.hpp)
  std::vector<NarrowGradients> narrow_gradients; ///< by unit
  /// Parameters' gradients to which steps add (Launch::sum_of); others are computed apart first.
  std::set<TensorId> summed;

  const Tensor& input(const Node& node, std::size_t i) const { return graph[node.inputs[i]]; }
  const Tensor& output(const Node& node) const { return graph[node.outputs[0]]; }
  /// Returns the shift of the batch norm that saved this mean.
  TensorId shift_of(TensorId saved_mean) const;
  /// Returns the weight as a node with activations of this type reads it: a parameter's copy of
  /// that type, or the tensor itself.
  WeightView view_weight(TensorId weight, DType type) const;
  /// Whether view_weight() has this type: only an activation may have another.
  bool is_read_as(TensorId weight, DType type) const;
  /// Returns cuDNN's plan of an attention node; empty if this project's kernels compute it. Errors:
  /// those of attention_plan().
  Result<std::optional<TimedPlan>> attention(const Node& node) const;
  /// Bytes for the narrow gradients of the unit with the largest ones.
  std::size_t staging_bytes() const;
  /// Adds a step's output to `summed` if it is_final_gradient(). Returns whether it is.
  bool add_without_copy(TensorId output);
  /// Chooses the product; sets its workspace and precision. Errors: those of
  /// MatmulPlanRegistry::product; unsupported if cuBLASLt is missing.
  Result<ChosenMatmul> product(MatmulOptions wanted);
  /// Errors: those of the driver.
  Result<DeviceRates> rates() const;

private:
  Lowering(CudaDevice& device, const Graph& graph_, const CompileOptions& options_)
      : graph{graph_}, options{options_}, policy{policy_of(options_)},
        narrow_gradients(graph_.units.size()), device_{device} {}
  /// Finds the plans of all convolutions and attention at once.
  Status find_plans();

  CudaDevice& device_;
};

/// Declares one lowering function per op.
#define TROUPE_OP(name) Result<StepPtr> lower_##name(Lowering& lowering, const Node& node);
#include "core/graph/ops.def"
#undef TROUPE_OP

/// Calls the function of the node's op.
Result<StepPtr> lower(Lowering& lowering, const Node& node);

} // namespace troupe::gpu
