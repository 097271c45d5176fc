/// What lowering a graph shares between its nodes: how parameters are stored, where tensors lie,
/// and what is chosen of cuDNN and cuBLASLt.
#pragma once

#include "gpu/cuda_device.hpp"
#include "gpu/lowering/detail/step.hpp"
#include "gpu/lowering/narrow_gradients.hpp"
#include "gpu/lowering/plan_registry.hpp"

#include <optional>
#include <vector>

namespace troupe::gpu {

/// Where a node finds a parameter: as it is, or its unit's copy in the type of activations.
class WeightView {
public:
  WeightView(TensorId parameter, UnitId unit) : parameter_{parameter}, unit_{unit} {}
  /// `offset`: in the unit's copy, in bytes.
  WeightView(TensorId parameter, UnitId unit, std::size_t offset)
      : parameter_{parameter}, unit_{unit}, offset_{offset} {}
  void* data(const Launch& launch) const;

private:
  TensorId parameter_;
  UnitId unit_;
  std::optional<std::size_t> offset_; ///< nothing: no copy
};

/// Bytes that a product is given: enough for any of a head's.
inline constexpr std::size_t product_workspace = std::size_t{32} << 20;

class Lowering {
public:
  /// Errors: unsupported where a library is missing, and as copy_types(); internal when plan or
  /// layout are of another graph.
  static Result<std::unique_ptr<Lowering>> make(CudaDevice& device, const Graph& graph,
                                                const CompileOptions& options);

  const Graph& graph;
  const CompileOptions& options;
  StorageLayout layout;
  Placement placement;
  PlanRegistry* plans = nullptr; ///< the device's; null for a graph without convolutions
  cudnn::PlanPolicy policy;      ///< for them
  std::vector<DType> copy_types; ///< by unit (storage.hpp)
  std::vector<NarrowGradients> narrow_gradients; ///< by unit

  const Tensor& input(const Node& node, std::size_t i) const { return graph[node.inputs[i]]; }
  const Tensor& output(const Node& node, std::size_t i = 0) const { return graph[node.outputs[i]]; }
  /// The shift of the batch norm that saved this mean.
  TensorId shift_of(TensorId saved_mean) const;
  /// As a node with activations of this type reads it.
  WeightView view_weight(TensorId parameter, DType type) const;
  /// Memory that the unit with the largest narrow gradients takes for them.
  std::size_t staging_bytes() const;
  /// Opened for the first node that asks. Errors: unsupported where cuBLASLt is missing.
  Result<MatmulPlanRegistry*> products();

private:
  Lowering(CudaDevice& device, const Graph& graph_, const CompileOptions& options_)
      : graph{graph_}, options{options_}, policy{policy_of(options_)},
        narrow_gradients(graph_.units.size()), device_{device} {}
  /// Convolutions' plans, all at once.
  Status find_plans();

  CudaDevice& device_;
};

/// What each op becomes: a function of its name.
#define TROUPE_OP(name) Result<StepPtr> lower_##name(Lowering& lowering, const Node& node);
#include "core/graph/ops.def"
#undef TROUPE_OP

/// The function of the node's op.
Result<StepPtr> lower(Lowering& lowering, const Node& node);

} // namespace troupe::gpu
