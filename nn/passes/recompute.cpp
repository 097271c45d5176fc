#include "nn/passes/recompute.hpp"

#include "nn/ops/record.hpp"
#include "nn/passes/detail/rewrite.hpp"

#include <optional>

namespace troupe::nn {

namespace {

/// Returns the node that recomputes the outputs of a forward node.
std::optional<Node> clone_of(const Node& node) {
  const auto clone = record_of(node.op).clone;
  return clone ? (*clone)(node) : std::nullopt;
}

} // namespace

Recomputation::Recomputation(const Graph& training)
    : training_{training}, graph_{training}, makers_(training.tensors.size(), -1),
      clones_(training.tensors.size(), -1), saved_(training.tensors.size()) {
  std::vector<bool> foreign(training.tensors.size()); // read by another unit's backward
  for (std::size_t i = 0; i < training.nodes.size(); ++i) {
    const auto& node = training.nodes[i];
    if (node.phase == Phase::backward) {
      for (const auto id : node.inputs) {
        saved_[static_cast<std::size_t>(id)] = true;
        if (makers_[static_cast<std::size_t>(id)] >= 0 &&
            training.nodes[maker(id)].unit != node.unit)
          foreign[static_cast<std::size_t>(id)] = true;
      }
    } else if (const auto clone = clone_of(node)) {
      for (const auto output : clone->outputs) {
        const auto id = static_cast<std::size_t>(output);
        auto tensor = training.tensors[id];
        tensor.name += ".again";
        makers_[id] = static_cast<int>(i);
        clones_[id] = graph_.add_tensor(std::move(tensor));
      }
    }
  }
  for (std::size_t id = 0; id < makers_.size(); ++id)
    if (makers_[id] >= 0 && saved_[id] && !foreign[id])
      candidates_.push_back(static_cast<TensorId>(id));
}

/// Returns whether a clone in this unit has to read the tensor's clone.
bool Recomputation::is_lost(TensorId id, UnitId reader) const {
  const auto i = static_cast<std::size_t>(id);
  return makers_[i] >= 0 && training_.nodes[maker(id)].unit == reader && (again_[i] || !saved_[i]);
}

/// Collects the nodes to clone for a node's clone, and the node itself, each after its inputs'
/// nodes.
void Recomputation::collect(std::size_t node, std::vector<bool>& done,
                            std::vector<std::size_t>& order) const {
  if (done[node])
    return;
  done[node] = true;
  for (const auto id : training_.nodes[node].inputs)
    if (is_lost(id, training_.nodes[node].unit))
      collect(maker(id), done, order);
  order.push_back(node);
}

Node Recomputation::clone(std::size_t node) const {
  auto clone = *clone_of(training_.nodes[node]);
  clone.phase = Phase::backward;
  for (auto& id : clone.inputs)
    if (is_lost(id, clone.unit))
      id = clones_[static_cast<std::size_t>(id)];
  for (auto& id : clone.outputs)
    id = clones_[static_cast<std::size_t>(id)];
  return clone;
}

const Graph& Recomputation::with(const TensorSet& again) {
  again_ = again;
  cloned_.assign(training_.nodes.size(), false);
  graph_.nodes.clear();
  std::vector<std::size_t> order;
  for (const auto& node : training_.nodes) {
    auto reader = node;
    if (node.phase == Phase::backward) {
      order.clear();
      for (auto& id : reader.inputs)
        if (const auto i = static_cast<std::size_t>(id); again_[i]) {
          collect(maker(id), cloned_, order);
          id = clones_[i];
        }
      for (const auto made : order)
        graph_.add_node(clone(made));
    }
    graph_.add_node(std::move(reader));
  }
  return graph_;
}

std::vector<std::size_t> Recomputation::clones_for(TensorId candidate) const {
  auto done = cloned_;
  std::vector<std::size_t> order;
  collect(maker(candidate), done, order);
  return order;
}

Graph recompute(const Graph& training, const TensorSet& again) {
  return drop_unused_tensors(Recomputation{training}.with(again));
}

} // namespace troupe::nn
