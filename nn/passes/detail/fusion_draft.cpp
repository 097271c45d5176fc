#include "nn/passes/detail/fusion_draft.hpp"

#include "nn/passes/detail/rewrite.hpp"

#include <algorithm>

namespace troupe::nn {

Time operator+(const Time& a, const Time& b) {
  return a && b ? Time{*a + *b} : std::nullopt;
}

bool is_batch_norm_of_this_rank(const Node& node, Op op) {
  if (node.op != op)
    return false;
  const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
  return attributes.training && !attributes.synchronized && !attributes.pooled;
}

FusionDraft::FusionDraft(const Graph& training, const FusionSupport& support,
                         const std::vector<std::string>& keep)
    : graph_{training}, nodes_{training.nodes},
      before_(training.nodes.size()), support_{support}, keep_{keep},
      makers_(training.tensors.size()), readers_(training.tensors.size()),
      dropped_(training.nodes.size()) {
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    for (const auto id : nodes_[i].outputs)
      makers_[static_cast<std::size_t>(id)] = i;
    for (const auto id : nodes_[i].inputs)
      readers_[static_cast<std::size_t>(id)].push_back(i);
  }
}

Graph FusionDraft::take() && {
  graph_.nodes.clear();
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    for (auto& node : before_[i])
      graph_.add_node(std::move(node));
    if (!dropped_[i])
      graph_.add_node(std::move(nodes_[i]));
  }
  return drop_unused_tensors(graph_);
}

std::optional<NodeIndex> FusionDraft::maker(TensorId id, Op op) const {
  const auto made = maker(id);
  return made && nodes_[*made].op == op && nodes_[*made].outputs[0] == id ? made : std::nullopt;
}

bool FusionDraft::is_kept(TensorId id) const {
  return graph_[id].role != Role::activation || std::ranges::count(keep_, graph_[id].name) > 0;
}

bool FusionDraft::choose(std::string_view what, TensorId at, const Ways& ways) const {
  if (!ways.fused)
    return false;
  const bool taken = !ways.apart || *ways.fused <= *ways.apart;
  if (support_.chosen)
    support_.chosen({what, graph_[at], *ways.fused, ways.apart, taken});
  return taken;
}

TensorId FusionDraft::by_channel(TensorId like, const char* suffix, DType type) {
  const auto& tensor = graph_[like];
  return graph_.add_tensor(
      {tensor.name + suffix, Shape{tensor.shape.dims.back()}, type, Role::activation, tensor.unit});
}

void narrow(Node& finalize, TensorId factor, TensorId offset, DType type, bool also_f32) {
  auto& attributes = std::get<FinalizeAttributes>(finalize.attributes);
  attributes.type = type;
  attributes.also_f32 = also_f32;
  auto& outputs = finalize.outputs;
  const std::vector wide{outputs[2], outputs[3]};
  if (also_f32)
    outputs.insert(outputs.begin() + 4, wide.begin(), wide.end());
  outputs[2] = factor;
  outputs[3] = offset;
}

} // namespace troupe::nn
