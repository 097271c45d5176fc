#include "fuse_statistics.hpp"

#include "detail/rewrite.hpp"

#include <algorithm>
#include <optional>

namespace troupe::nn {

namespace {

using NodeIndex = std::size_t;

/// Microseconds; none where a device does not run it.
using Time = std::optional<double>;

Time operator+(const Time& a, const Time& b) {
  return a && b ? Time{*a + *b} : std::nullopt;
}

/// Times of the same work, done in two ways.
struct Ways {
  Time fused, apart;
};

class StatisticsFuser {
public:
  StatisticsFuser(const Graph& training, const FusionSupport& support,
                  const std::vector<std::string>& keep)
      : graph_{training}, nodes_{training.nodes}, support_{support}, keep_{keep},
        makers_(training.tensors.size()), readers_(training.tensors.size()),
        replacements_(training.nodes.size()), sums_(training.nodes.size()) {
    for (NodeIndex i = 0; i < nodes_.size(); ++i) {
      for (const auto id : nodes_[i].outputs)
        makers_[static_cast<std::size_t>(id)] = i;
      for (const auto id : nodes_[i].inputs)
        readers_[static_cast<std::size_t>(id)].push_back(i);
    }
  }

  Graph run() && {
    for (NodeIndex i = 0; i < nodes_.size(); ++i)
      if (can_be_taken_apart(nodes_[i]))
        rewrite(i);
    graph_.nodes.clear();
    for (NodeIndex i = 0; i < nodes_.size(); ++i)
      if (replacements_[i].empty())
        graph_.add_node(std::move(nodes_[i]));
      else
        for (auto& node : replacements_[i])
          graph_.add_node(std::move(node));
    return drop_unused_tensors(graph_);
  }

private:
  /// A batch norm, and what it becomes.
  struct Parts {
    NodeIndex forward;
    std::optional<NodeIndex> backward;
    BatchNormAttributes attributes;
    TensorId x, y;
    TensorId factor = -1, offset = -1; ///< once it has been taken apart
    bool masks_elsewhere = false;      ///< its backward does not look at y any more
  };

  /// Synchronized batch norms stay whole: the sums of a convolution are this rank's alone.
  static bool can_be_taken_apart(const Node& node) {
    if (node.op != Op::batch_norm)
      return false;
    const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
    return attributes.training && !attributes.synchronized;
  }
  static Conv2dAttributes& convolution(Node& node) {
    return std::get<Conv2dAttributes>(node.attributes);
  }
  const std::vector<NodeIndex>& readers(TensorId id) const {
    return readers_[static_cast<std::size_t>(id)];
  }
  /// The node of this kind that makes a tensor; graph inputs have no maker.
  std::optional<NodeIndex> maker(TensorId id, Op op) const {
    const auto made = makers_[static_cast<std::size_t>(id)];
    return made && nodes_[*made].op == op && nodes_[*made].outputs[0] == id ? made : std::nullopt;
  }
  bool is_kept(TensorId id) const {
    return graph_[id].role != Role::activation || std::ranges::count(keep_, graph_[id].name) > 0;
  }
  Time time(const Node& node) const { return support_.microseconds(graph_, node); }
  bool runs(const Node& node) const { return time(node).has_value(); }
  bool choose(std::string_view what, TensorId at, const Ways& ways) const {
    if (!ways.fused)
      return false;
    const bool taken = !ways.apart || *ways.fused <= *ways.apart;
    if (support_.chosen)
      support_.chosen({what, graph_[at], *ways.fused, ways.apart, taken});
    return taken;
  }

  /// A new tensor of f32 values by channel.
  TensorId by_channel(TensorId like, const char* suffix) {
    const auto& tensor = graph_[like];
    return graph_.add_tensor({tensor.name + suffix, Shape{tensor.shape.dims.back()}, DType::f32,
                              Role::activation, tensor.unit});
  }

  void rewrite(NodeIndex forward) {
    const auto& node = nodes_[forward];
    Parts parts{.forward = forward,
                .backward = {},
                .attributes = std::get<BatchNormAttributes>(node.attributes),
                .x = node.inputs[0],
                .y = node.outputs[0]};
    for (const auto reader : readers(node.outputs[1]))
      if (nodes_[reader].op == Op::batch_norm_backward)
        parts.backward = reader;
    take_apart(parts);
    reduce_in_backward_data(parts);
    if (parts.factor >= 0)
      move_into_readers(parts);
  }

  Node with_statistics(NodeIndex index) {
    auto node = nodes_[index];
    auto& sums = sums_[index];
    if (sums.empty())
      sums = {by_channel(node.outputs[0], ".sum"), by_channel(node.outputs[0], ".sum_of_squares")};
    convolution(node).statistics = true;
    node.outputs.insert(node.outputs.end(), sums.begin(), sums.end());
    return node;
  }

  /// batch_norm -> statistics in the convolution, batch_norm_finalize, scale_shift.
  void take_apart(Parts& parts) {
    const auto made = maker(parts.x, Op::conv2d);
    if (!made || convolution(nodes_[*made]).statistics)
      return;
    const auto& node = nodes_[parts.forward];
    auto source = with_statistics(*made);
    const auto factor = by_channel(parts.y, ".factor"), offset = by_channel(parts.y, ".offset");
    const auto& a = parts.attributes;
    const auto& shape = graph_[parts.x].shape;
    const Node finalize{Op::batch_norm_finalize,
                        {source.outputs[1], source.outputs[2], node.inputs[1], node.inputs[2],
                         node.inputs[3], node.inputs[4]},
                        {node.outputs[1], node.outputs[2], factor, offset},
                        FinalizeAttributes{a.eps, a.momentum, shape.elements() / shape.dims.back()},
                        Phase::forward,
                        node.unit};
    Node apply{Op::scale_shift, {parts.x, factor, offset},
               {parts.y},       ScaleShiftAttributes{.relu = a.relu},
               Phase::forward,  node.unit};
    if (a.add)
      apply.inputs.push_back(node.inputs[5]);
    if (!choose("statistics", parts.x,
                {time(source) + time(finalize) + time(apply), time(nodes_[*made]) + time(node)}))
      return;
    if (a.add)
      apply_shortcut(apply);
    nodes_[*made] = std::move(source);
    replacements_[parts.forward] = {finalize, std::move(apply)};
    parts.factor = factor;
    parts.offset = offset;
  }

  /// When the residual is another batch norm's, which nobody else reads, `apply` makes it, too.
  void apply_shortcut(Node& apply) {
    const auto residual = apply.inputs[3];
    const auto other = maker(residual, Op::batch_norm);
    if (!other || replacements_[*other].size() != 2 || readers(residual).size() != 1 ||
        is_kept(residual))
      return;
    const auto& shortcut = replacements_[*other][1];
    if (shortcut.inputs.size() != 3 || std::get<ScaleShiftAttributes>(shortcut.attributes).relu)
      return;
    auto both = apply;
    both.inputs[3] = shortcut.inputs[0];
    both.inputs.insert(both.inputs.end(), shortcut.inputs.begin() + 1, shortcut.inputs.end());
    if (!runs(both))
      return;
    apply = std::move(both);
    replacements_[*other].pop_back();
  }

  /// conv2d_backward_data, batch_norm_backward -> conv2d_backward_data {batch_norm_relu},
  /// batch_norm_input_gradient.
  void reduce_in_backward_data(Parts& parts) {
    if (!parts.backward || !parts.attributes.relu || parts.attributes.add)
      return;
    const auto& backward = nodes_[*parts.backward];
    const auto dy = backward.inputs[0];
    const auto made = maker(dy, Op::conv2d_backward_data);
    if (!made || readers(dy).size() != 1 || is_kept(dy) || nodes_[*made].unit != backward.unit)
      return;
    const auto& forward = nodes_[parts.forward];
    auto data = nodes_[*made];
    convolution(data).batch_norm_relu = true;
    data.inputs.insert(data.inputs.end(), {parts.x, forward.inputs[1], forward.inputs[2],
                                           forward.outputs[1], forward.outputs[2]});
    const auto dy_factor = by_channel(dy, ".dy_factor"), x_factor = by_channel(dy, ".x_factor"),
               offset = by_channel(dy, ".offset");
    data.outputs.insert(data.outputs.end(),
                        {backward.outputs[1], backward.outputs[2], dy_factor, x_factor, offset});
    Node gradient{Op::batch_norm_input_gradient,
                  {dy, parts.x, dy_factor, x_factor, offset},
                  {backward.outputs[0]},
                  {},
                  Phase::backward,
                  backward.unit};
    if (!choose("mask and sums", dy,
                {time(data) + time(gradient), time(nodes_[*made]) + time(backward)}))
      return;
    nodes_[*made] = std::move(data);
    nodes_[*parts.backward] = std::move(gradient);
    parts.masks_elsewhere = true;
  }

  /// A convolution or weight gradient that reads x instead of the batch norm's result.
  Node with_prologue(Node node, const Parts& parts) const {
    convolution(node).prologue = true;
    node.inputs[node.op == Op::conv2d ? 0 : 1] = parts.x;
    node.inputs.insert(node.inputs.end(), {parts.factor, parts.offset});
    return node;
  }

  bool feeds_batch_norm(const Node& node) const {
    return std::ranges::any_of(readers(node.outputs[0]), [this](NodeIndex reader) {
      return can_be_taken_apart(nodes_[reader]);
    });
  }

  Ways prologue(NodeIndex index, const Parts& parts) {
    const auto& node = nodes_[index];
    const bool forward = node.op == Op::conv2d;
    const auto& x = node.inputs[forward ? 0 : 1];
    if (x != parts.y || std::ranges::count(node.inputs, parts.y) != 1)
      return {};
    if (forward && feeds_batch_norm(node)) { // that batch norm has its turn later
      const auto statistics = with_statistics(index);
      const Ways both{time(with_prologue(statistics, parts)), time(statistics)};
      if (both.fused || both.apart) // one that can give statistics keeps them
        return both;
    }
    return {time(with_prologue(node, parts)), time(node)};
  }

  /// scale_shift {relu} -> prologues of all that read it.
  void move_into_readers(Parts& parts) {
    if (!parts.attributes.relu || parts.attributes.add || is_kept(parts.y))
      return;
    Ways ways{0, time(replacements_[parts.forward].back())};
    std::optional<Node> backward;
    if (parts.backward && !parts.masks_elsewhere) {
      backward = nodes_[*parts.backward];
      backward->inputs[5] = parts.factor;
      backward->inputs.push_back(parts.offset);
      ways = {time(*backward), ways.apart + time(nodes_[*parts.backward])};
    }
    std::vector<NodeIndex> convolutions;
    for (const auto reader : readers(parts.y)) {
      if (parts.backward == reader)
        continue;
      const auto op = nodes_[reader].op;
      if (op != Op::conv2d && op != Op::conv2d_backward_weight)
        return;
      const auto more = prologue(reader, parts);
      ways = {ways.fused + more.fused, ways.apart + more.apart};
      convolutions.push_back(reader);
    }
    if (!choose("prologue", parts.y, ways))
      return;
    for (const auto reader : convolutions)
      nodes_[reader] = with_prologue(nodes_[reader], parts);
    if (backward)
      nodes_[*parts.backward] = std::move(*backward);
    replacements_[parts.forward].pop_back();
  }

  Graph graph_;
  std::vector<Node> nodes_; ///< as they become, by their place in the graph as it was
  const FusionSupport& support_;
  const std::vector<std::string>& keep_;
  std::vector<std::optional<NodeIndex>> makers_; ///< by TensorId
  std::vector<std::vector<NodeIndex>> readers_;  ///< by TensorId, in the graph as it was
  std::vector<std::vector<Node>> replacements_;  ///< what stands for a batch norm
  std::vector<std::vector<TensorId>> sums_;      ///< of a convolution's output, once asked about
};

} // namespace

Graph fuse_statistics(const Graph& training, const FusionSupport& support,
                      const std::vector<std::string>& keep) {
  return support.microseconds ? StatisticsFuser{training, support, keep}.run() : training;
}

} // namespace troupe::nn
