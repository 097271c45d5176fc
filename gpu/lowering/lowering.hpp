/// What lowering a graph shares between its nodes: how parameters are stored, where tensors lie,
/// and the plans of cuDNN and cuBLASLt.
#pragma once

#include "plan_book.hpp"
#include "step.hpp"

#include "../cublas/matmul.hpp"
#include "../cuda_device.hpp"

#include <vector>

namespace troupe::gpu {

class Lowering {
public:
  /// Errors: unsupported where a library is missing; internal when plan or layout are of another
  /// graph.
  static Result<std::unique_ptr<Lowering>> make(CudaDevice& device, const Graph& graph,
                                                const CompileOptions& options);

  const Graph& graph;
  const CompileOptions& options;
  StorageLayout layout;
  Placement placement;
  PlanBook* plans = nullptr;         ///< the device's; null for a graph without convolutions
  cudnn::PlanPolicy policy;          ///< for them
  std::shared_ptr<CublasLt> matmuls; ///< null for a graph without matmuls
  /// By unit: whether some node reads its parameters as f16 or bf16, and in which of the two.
  std::vector<DType> copy_types; ///< f32: no copy

  const Tensor& input(const Node& node, std::size_t i) const { return graph[node.inputs[i]]; }
  const Tensor& output(const Node& node, std::size_t i = 0) const { return graph[node.outputs[i]]; }
  /// The shift of the batch norm that saved this mean.
  TensorId shift_of(TensorId saved_mean) const;
  /// Channels that a convolution weight is stored with: those of the images it reads.
  std::int64_t stored_inputs(TensorId weight) const;

private:
  Lowering(const Graph& graph_, const CompileOptions& options_)
      : graph{graph_}, options{options_}, policy{policy_of(options_)} {}
  void store_parameters();
  Status find_copies();
  /// Convolutions' plans, all at once.
  void find_plans();
};

/// Where a node finds a parameter: as it is, or its unit's copy in the type of activations.
class WeightView {
public:
  WeightView(const Lowering& lowering, TensorId parameter, DType type);
  void* data(const Launch& launch) const;

private:
  TensorId parameter_;
  bool copied_;
  std::size_t unit_, copy_offset_ = 0;
};

/// One per op family.
Result<StepPtr> lower_convolution(Lowering& lowering, const Node& node);
Result<StepPtr> lower_matmul(Lowering& lowering, const Node& node);
Result<StepPtr> lower_batch_norm(Lowering& lowering, const Node& node);
Result<StepPtr> lower_pooling(Lowering& lowering, const Node& node);
Result<StepPtr> lower_elementwise(Lowering& lowering, const Node& node);
Result<StepPtr> lower_loss(Lowering& lowering, const Node& node);

Result<StepPtr> lower(Lowering& lowering, const Node& node);

} // namespace troupe::gpu
