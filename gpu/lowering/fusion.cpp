#include "fusion.hpp"

#include "convolution_graph.hpp"
#include "pool_index.hpp"
#include "traffic.hpp"
#include "weight_gradient.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::gpu {

namespace {

/// Finds what the convolutions of a graph may become.
class Variants {
public:
  explicit Variants(const Graph& graph) : graph_{graph} {
    for (const auto& node : graph.nodes)
      add(node);
  }

  std::vector<cudnn::OperationGraph> take() { return std::move(all_); }

private:
  using Flag = bool Conv2dAttributes::*;

  void add(const Node& node) {
    switch (node.op) {
    case Op::conv2d:
      add(node, {});
      if (feeds(node, Op::batch_norm))
        add(node, {&Conv2dAttributes::statistics});
      if (reads_normalized(node.inputs[0]))
        add(node, {&Conv2dAttributes::statistics, &Conv2dAttributes::prologue});
      break;
    case Op::conv2d_backward_data:
      add(node, {});
      if (feeds(node, Op::batch_norm_backward))
        add(node, {&Conv2dAttributes::batch_norm_relu});
      break;
    case Op::conv2d_backward_weight:
      add(node, {});
      if (reads_normalized(node.inputs[1]))
        add(node, {&Conv2dAttributes::prologue});
      break;
    default:
      break;
    }
  }

  void add(Node node, std::initializer_list<Flag> flags) {
    for (const auto flag : flags)
      std::get<Conv2dAttributes>(node.attributes).*flag = true;
    std::ranges::move(convolution_graphs(graph_, node), std::back_inserter(all_));
  }

  static bool joins(const Node& node) {
    const auto* const attributes = std::get_if<BatchNormAttributes>(&node.attributes);
    return attributes && attributes->training && !attributes->synchronized;
  }

  bool feeds(const Node& node, Op op) const {
    return std::ranges::any_of(graph_.nodes, [&](const Node& reader) {
      return reader.op == op && reader.inputs[0] == node.outputs[0] && joins(reader) &&
             (op == Op::batch_norm || masks(reader));
    });
  }
  bool reads_normalized(TensorId x) const {
    return std::ranges::any_of(graph_.nodes, [&](const Node& maker) {
      return maker.op == Op::batch_norm && maker.outputs[0] == x && joins(maker) && masks(maker);
    });
  }
  static bool masks(const Node& node) {
    const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
    return attributes.relu && !attributes.add;
  }

  const Graph& graph_;
  std::vector<cudnn::OperationGraph> all_;
};

class FusionTimes {
public:
  FusionTimes(PlanBook& plans, const cudnn::PlanPolicy& policy) : plans_{plans}, policy_{policy} {}

  std::optional<double> operator()(const Graph& graph, const Node& node) {
    if (!prepared_)
      plans_.prepare(Variants{graph}.take(), policy_);
    prepared_ = true;
    switch (node.op) {
    case Op::conv2d:
      return forward(graph, node);
    case Op::conv2d_backward_data:
      return time(backward_data_graph(graph, node));
    case Op::conv2d_backward_weight:
      return weight(graph, node);
    case Op::max_pool:
      return pooling(graph, node);
    default:
      return plans_.rates().microseconds(traffic_of(graph, node));
    }
  }

private:
  /// What reads the index of a pooling that normalizes reads it in bytes.
  std::optional<double> pooling(const Graph& graph, const Node& node) const {
    const auto& attributes = std::get<PoolAttributes>(node.attributes);
    if (attributes.prologue && pool_index_type(attributes) != DType::u8)
      return std::nullopt;
    return plans_.rates().microseconds(traffic_of(graph, node));
  }

  std::optional<double> forward(const Graph& graph, const Node& node) {
    // No pattern of cuDNN normalizes its input and keeps the statistics to itself.
    const auto& attributes = std::get<Conv2dAttributes>(node.attributes);
    if (attributes.prologue && !attributes.statistics)
      return std::nullopt;
    return plus_narrowing(time(forward_graph(graph, node)), graph, node);
  }

  std::optional<double> weight(const Graph& graph, const Node& node) {
    const auto way = weight_gradient(plans_, policy_, graph, node);
    if (!way)
      return no_plan(way.error(), backward_weight_graph(graph, node));
    return plus_narrowing(way->microseconds, graph, node);
  }

  /// Factor and offset of a prologue are made of f32 by a kernel each.
  std::optional<double> plus_narrowing(std::optional<double> time, const Graph& graph,
                                       const Node& node) const {
    if (time)
      *time += plans_.rates().microseconds(narrowing_traffic(graph, node));
    return time;
  }

  std::optional<double> time(const cudnn::OperationGraph& graph) {
    const auto plan = plans_.plan(graph, policy_);
    return plan ? plan->microseconds : no_plan(plan.error(), graph);
  }

  /// No memory to measure in says nothing about engines: the fused node stays, and lowering reports
  /// it.
  std::optional<double> no_plan(const Error& error, const cudnn::OperationGraph& graph) const {
    return error.code == Errc::out_of_memory ? std::optional{plans_.reckon(graph)} : std::nullopt;
  }

  PlanBook& plans_;
  cudnn::PlanPolicy policy_;
  bool prepared_ = false;
};

} // namespace

std::function<std::optional<double>(const Graph&, const Node&)>
fusion_times(PlanBook& plans, const cudnn::PlanPolicy& policy) {
  return FusionTimes{plans, policy};
}

} // namespace troupe::gpu
