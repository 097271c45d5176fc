#include "nn/passes/fuse_training.hpp"

#include "nn/passes/detail/fusion_draft.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

MatmulAttributes product_attributes(const Node& product) {
  const auto* const attributes = std::get_if<MatmulAttributes>(&product.attributes);
  return attributes ? *attributes : MatmulAttributes{};
}

class GeluFuser : FusionDraft {
public:
  using FusionDraft::FusionDraft;

  Graph run() && {
    for (NodeIndex i = 0; i < nodes_.size(); ++i)
      if (is_tanh(nodes_[i]))
        nodes_[i].op == Op::gelu ? join_forward(i) : join_backward(i);
    return std::move(*this).take();
  }

private:
  static bool is_tanh(const Node& node) {
    return (node.op == Op::gelu || node.op == Op::gelu_backward) &&
           std::get<GeluAttributes>(node.attributes).tanh;
  }

  /// Returns the node with gelu fused into it.
  static Node with_gelu(Node product) {
    auto attributes = product_attributes(product);
    attributes.gelu = true;
    product.attributes = attributes;
    return product;
  }

  void join_forward(NodeIndex gelu) {
    const auto input = nodes_[gelu].inputs[0];
    const auto product = maker(input, Op::matmul);
    if (!product || nodes_[*product].outputs.size() != 1 ||
        nodes_[*product].unit != nodes_[gelu].unit || nodes_[*product].phase != nodes_[gelu].phase)
      return;
    auto fused = with_gelu(nodes_[*product]);
    fused.outputs = {nodes_[gelu].outputs[0], input};
    if (!choose("gelu", input, {time(fused), time(nodes_[*product]) + time(nodes_[gelu])}))
      return;
    nodes_[*product] = std::move(fused);
    drop(gelu);
  }

  void join_backward(NodeIndex gelu) {
    const auto dy = nodes_[gelu].inputs[0];
    const auto product = maker(dy, Op::matmul_backward_data);
    if (!product || !has_one_reader(dy) || is_kept(dy) || nodes_[*product].inputs.size() != 2 ||
        nodes_[*product].unit != nodes_[gelu].unit)
      return;
    auto fused = with_gelu(nodes_[*product]);
    fused.inputs.push_back(nodes_[gelu].inputs[1]);
    fused.outputs = nodes_[gelu].outputs;
    if (!choose("gradient of gelu", dy, {time(fused), time(nodes_[*product]) + time(nodes_[gelu])}))
      return;
    nodes_[gelu] = std::move(fused);
    drop(*product);
  }
};

class BiasGradientFuser : FusionDraft {
public:
  using FusionDraft::FusionDraft;

  Graph run() && {
    for (NodeIndex i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].op == Op::bias_backward)
        join(i);
    return std::move(*this).take();
  }

private:
  /// Later nodes of backward may read a part of a gradient, so only whole gradients are computed
  /// later.
  void join(NodeIndex sum) {
    const auto dy = nodes_[sum].inputs[0], dbias = nodes_[sum].outputs[0];
    const auto product = weight_gradient_of(dy, nodes_[sum].unit);
    if (!product || graph_[dbias].role != Role::gradient)
      return;
    auto fused = nodes_[*product];
    auto attributes = product_attributes(fused);
    attributes.bias_gradient = true;
    fused.attributes = attributes;
    fused.outputs.push_back(dbias);
    if (!choose("bias gradient", dy, {time(fused), time(nodes_[*product]) + time(nodes_[sum])}))
      return;
    nodes_[*product] = std::move(fused);
    drop(sum);
  }

  std::optional<NodeIndex> weight_gradient_of(TensorId dy, UnitId unit) const {
    for (const auto reader : readers(dy))
      if (const auto& node = nodes_[reader]; node.op == Op::matmul_backward_weight &&
                                             node.inputs[0] == dy && node.unit == unit &&
                                             node.outputs.size() == 1)
        return reader;
    return std::nullopt;
  }
};

class SharedWeightNarrower : FusionDraft {
public:
  using FusionDraft::FusionDraft;

  Graph run() && {
    for (NodeIndex i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].op == Op::share && nodes_[i].phase == Phase::forward)
        narrow(i);
    return std::move(*this).take();
  }

private:
  void narrow(NodeIndex share) {
    const auto shared = nodes_[share].outputs[0];
    const auto type = type_of_products(shared);
    if (type == DType::f32 || is_kept(shared))
      return;
    auto tensor = graph_[shared];
    tensor.name += "." + std::string{to_string(type)};
    tensor.dtype = type;
    const auto narrowed = graph_.add_tensor(std::move(tensor));
    auto cast = nodes_[share];
    cast.op = Op::cast;
    cast.outputs = {narrowed};
    if (!choose("shared weight", shared, {time(cast), time(nodes_[share])}))
      return;
    nodes_[share] = std::move(cast);
    for (const auto reader : readers(shared))
      nodes_[reader].inputs[1] = narrowed;
  }

  /// Returns the type in which losses multiply the tensor; f32 if another node reads it, too.
  DType type_of_products(TensorId shared) const {
    auto type = DType::f32;
    for (const auto reader : readers(shared)) {
      const auto& node = nodes_[reader];
      const bool is_loss =
          node.op == Op::linear_cross_entropy || node.op == Op::linear_cross_entropy_backward;
      if (!is_loss || node.inputs[1] != shared)
        return DType::f32;
      type = graph_[node.inputs[0]].dtype;
    }
    return type;
  }
};

} // namespace

Graph fuse_gelu(const Graph& training, const FusionSupport& support,
                const std::vector<std::string>& keep) {
  return support.microseconds ? GeluFuser{training, support, keep}.run() : training;
}

Graph fuse_bias_gradients(const Graph& training, const FusionSupport& support,
                          const std::vector<std::string>& keep) {
  return support.microseconds ? BiasGradientFuser{training, support, keep}.run() : training;
}

Graph narrow_shared_weights(const Graph& training, const FusionSupport& support,
                            const std::vector<std::string>& keep) {
  return support.microseconds ? SharedWeightNarrower{training, support, keep}.run() : training;
}

} // namespace troupe::nn
