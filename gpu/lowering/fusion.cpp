#include "gpu/lowering/fusion.hpp"

#include "gpu/lowering/convolution_graph.hpp"
#include "gpu/lowering/detail/fusion_variants.hpp"
#include "gpu/lowering/pool_index.hpp"
#include "gpu/lowering/traffic.hpp"
#include "gpu/lowering/weight_gradient.hpp"

namespace troupe::gpu {

namespace {

class FusionTimes {
public:
  using Open = std::function<PlanRegistry*()>;

  FusionTimes(Open open, const DeviceRates& rates, const cudnn::PlanPolicy& policy)
      : open_{std::move(open)}, rates_{rates}, policy_{policy} {}

  std::optional<double> operator()(const Graph& graph, const Node& node) {
    if (!prepared_)
      prepare(graph);
    if (is_convolution(node.op) && !plans_)
      return std::nullopt;
    switch (node.op) {
    case Op::conv2d:
      return has_pattern(node) ? time(forward_graph(graph, node)) : std::nullopt;
    case Op::conv2d_backward_data:
      return time(backward_data_graph(graph, node));
    case Op::conv2d_backward_weight:
      return weight(graph, node);
    case Op::max_pool:
      return pooling(graph, node);
    default:
      return rates_.microseconds(traffic_of(graph, node));
    }
  }

private:
  static bool is_convolution(Op op) {
    return op == Op::conv2d || op == Op::conv2d_backward_data || op == Op::conv2d_backward_weight;
  }

  void prepare(const Graph& graph) {
    prepared_ = true;
    const auto variants = fusion_variants(graph);
    if (variants.empty())
      return;
    plans_ = open_();
    if (plans_)
      plans_->prepare(variants, policy_);
  }

  /// The backward pass of a normalizing pooling reads only u8 indices.
  std::optional<double> pooling(const Graph& graph, const Node& node) const {
    const auto& attributes = std::get<PoolAttributes>(node.attributes);
    if (attributes.prologue && pool_index_type(attributes) != DType::u8)
      return std::nullopt;
    return rates_.microseconds(traffic_of(graph, node));
  }

  std::optional<double> weight(const Graph& graph, const Node& node) {
    const auto way = weight_gradient(*plans_, policy_, graph, node);
    return way ? way->microseconds : no_plan(way.error(), backward_weight_graph(graph, node));
  }

  std::optional<double> time(const cudnn::OperationGraph& graph) {
    const auto plan = plans_->plan(graph, policy_);
    return plan ? plan->microseconds : no_plan(plan.error(), graph);
  }

  /// Without memory to measure in, no engine counts as rejecting the graph: the fused node stays,
  /// and lowering reports the error.
  std::optional<double> no_plan(const Error& error, const cudnn::OperationGraph& graph) const {
    return error.code == Errc::out_of_memory ? std::optional{plans_->reckon(graph)} : std::nullopt;
  }

  Open open_;
  DeviceRates rates_;
  cudnn::PlanPolicy policy_;
  PlanRegistry* plans_ = nullptr; ///< null: the graph has no convolutions, or cuDNN is missing
  bool prepared_ = false;
};

} // namespace

std::function<std::optional<double>(const Graph&, const Node&)>
fusion_times(PlanRegistry& plans, const cudnn::PlanPolicy& policy) {
  return FusionTimes{[&plans] { return &plans; }, plans.rates(), policy};
}

std::function<std::optional<double>(const Graph&, const Node&)>
fusion_times(CudaDevice& device, const DeviceRates& rates, const cudnn::PlanPolicy& policy) {
  return FusionTimes{[&device] { return device.plans().value_or(nullptr); }, rates, policy};
}

} // namespace troupe::gpu
