#include "gpu/lowering/fusion.hpp"

#include "gpu/lowering/convolution_graph.hpp"
#include "gpu/lowering/detail/pool_shape.hpp"
#include "gpu/lowering/traffic.hpp"
#include "gpu/lowering/weight_gradient.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::gpu {

namespace {

/// The fusions that the convolutions of a graph may get, so that the plans of all of them can be
/// searched and measured at once: each convolution by itself, and as nn/passes/fuse_statistics and
/// fuse_block_ends may fuse it. Takes a training graph before its batch norms are split.
class Variants {
public:
  explicit Variants(const Graph& graph) : graph_{graph} {
    for (const auto& node : graph.nodes)
      if (std::holds_alternative<Conv2dAttributes>(node.attributes))
        add_all(node);
  }

  std::vector<cudnn::OperationGraph> take() { return std::move(all_); }

private:
  void add_all(const Node& node) {
    add(node, [](Conv2dAttributes&) {});
    if (node.op == Op::conv2d)
      add_forward(node);
    if (node.op == Op::conv2d_backward_data)
      add_backward_data(node);
    if (node.op == Op::conv2d_backward_weight && normalizes(maker(node.inputs[1])))
      add(node, [](Conv2dAttributes& a) { a.prologue = true; });
  }

  void add_forward(const Node& node) {
    if (reader(node.outputs[0], Op::batch_norm))
      add(node, [](Conv2dAttributes& a) { a.statistics = true; });
    const auto* const end = maker(node.inputs[0]);
    if (!joins(end, Op::batch_norm) || !attributes(*end).relu)
      return;
    add(node, [residual = residual_of(*end)](Conv2dAttributes& a) {
      a.statistics = a.prologue = true;
      a.residual = residual;
    });
  }

  void add_backward_data(const Node& node) {
    const auto dx = node.outputs[0];
    for (const auto& reader : graph_.nodes)
      if (std::ranges::count(reader.inputs, dx) > 0 && reader.op == Op::add)
        add_masked(node, reader.outputs[0], true);
    add_masked(node, dx, false);
  }

  /// `dy`: the whole gradient of the convolution's input: this node's output, or a sum that
  /// includes it (`added`).
  void add_masked(const Node& node, TensorId dy, bool added) {
    const auto* const backward = reader(dy, Op::batch_norm_backward);
    if (!backward || !attributes(*backward).relu)
      return;
    const auto* const end = maker(backward->inputs[5]);
    add(node, [added, residual = residual_of(*end)](Conv2dAttributes& a) {
      a.batch_norm_relu = true;
      a.residual = residual;
      a.add_gradient = added;
    });
  }

  template <class Change>
  void add(Node node, Change change) {
    change(std::get<Conv2dAttributes>(node.attributes));
    if (node.op != Op::conv2d || has_pattern(node))
      std::ranges::move(convolution_graphs(graph_, node), std::back_inserter(all_));
  }

  static const BatchNormAttributes& attributes(const Node& node) {
    return std::get<BatchNormAttributes>(node.attributes);
  }
  static bool joins(const Node* node, Op op) {
    return node && node->op == op && attributes(*node).training && !attributes(*node).synchronized;
  }
  static bool normalizes(const Node* node) {
    return joins(node, Op::batch_norm) && attributes(*node).relu && !attributes(*node).add;
  }

  /// Returns the residual that a batch norm adds. The result of another batch norm is most likely
  /// not stored by itself, so its input counts as the residual.
  Residual residual_of(const Node& end) const {
    if (!attributes(end).add)
      return Residual::none;
    const auto* const other = maker(end.inputs[5]);
    return joins(other, Op::batch_norm) && !attributes(*other).relu ? Residual::normalized
                                                                    : Residual::plain;
  }

  const Node* maker(TensorId id) const {
    const auto found = std::ranges::find_if(
        graph_.nodes, [id](const Node& node) { return std::ranges::count(node.outputs, id) > 0; });
    return found == graph_.nodes.end() ? nullptr : &*found;
  }
  /// Returns the batch norm, forward or backward, that has the tensor as its first input.
  const Node* reader(TensorId id, Op op) const {
    const auto found = std::ranges::find_if(graph_.nodes, [id, op](const Node& node) {
      return joins(&node, op) && node.inputs[0] == id;
    });
    return found == graph_.nodes.end() ? nullptr : &*found;
  }

  const Graph& graph_;
  std::vector<cudnn::OperationGraph> all_;
};

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
    case Op::matmul:
    case Op::matmul_backward_data:
      return product(graph, node);
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
    const auto variants = Variants{graph}.take();
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

  /// cuBLASLt applies gelu to results of 16 bits, with a multiple of 8 columns.
  std::optional<double> product(const Graph& graph, const Node& node) const {
    const auto* const attributes = std::get_if<MatmulAttributes>(&node.attributes);
    const auto& result = graph[node.outputs[0]];
    if (attributes && attributes->gelu &&
        (result.dtype == DType::f32 || result.shape.dims.back() % 8 != 0))
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
