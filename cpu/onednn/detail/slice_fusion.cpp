#include "cpu/onednn/detail/slice_fusion.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

class Connector {
public:
  Connector(const Graph& graph, const std::vector<Place>& places, const std::vector<Step*>& steps)
      : graph_{graph}, places_{places}, steps_{steps}, written_at_(graph.tensors.size(), 0),
        fused_(steps.size(), false) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (const auto id : graph.nodes[i].outputs)
        written_at_[static_cast<std::size_t>(id)] = i + 1;
  }

  void run() {
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (auto* const producer = dynamic_cast<SliceProducer*>(steps_[i]);
          producer && producer->writes_slices())
        connect(i, i, *producer, {});
  }

private:
  /// Finds consumers of the output of node `at` that can run with node `root`. `chain`: the nodes
  /// fused from the root to `at`.
  void connect(std::size_t root, std::size_t at, SliceProducer& producer,
               const std::vector<std::size_t>& chain) {
    const auto tensor = graph_.nodes[at].outputs[0];
    for (std::size_t i = at + 1; i < steps_.size(); ++i) {
      const auto& node = graph_.nodes[i];
      if (node.phase != graph_.nodes[root].phase)
        return;
      auto* const consumer = dynamic_cast<SliceConsumer*>(steps_[i]);
      if (!consumer || fused_[i] || std::ranges::count(node.inputs, tensor) == 0)
        continue;
      const auto needs = consumer->consumes(tensor);
      if (!needs || !may_run_early(root, i, tensor, *needs, chain))
        continue;
      fused_[i] = true;
      producer.add(consumer);
      add_tensors(root, tensor, *needs);
      steps_[i]->tensors = consumer->remaining();
      if (auto* const next = dynamic_cast<SliceProducer*>(steps_[i])) {
        auto longer = chain;
        longer.push_back(i);
        connect(root, i, *next, longer);
      }
    }
  }

  /// Adds what a consumer of `consumed` reads and writes to the tensors of step `root`, which it
  /// runs with. Memory that it overwrites while that is in the cache is written only once.
  void add_tensors(std::size_t root, TensorId consumed, const SliceConsumer::Needs& needs) const {
    auto& tensors = steps_[root]->tensors.emplace(
        steps_[root]->tensors.value_or(tensors_of(graph_.nodes[root])));
    const auto add = [&](TensorId id) {
      if (std::ranges::count(tensors, id) == 0)
        tensors.push_back(id);
    };
    std::ranges::for_each(needs.reads, add);
    for (const auto id : needs.writes)
      if (!same_place(consumed, id))
        add(id);
  }

  /// Whether the inputs exist before `root`, and no node between it and node `i` uses the memory
  /// that is written. (A tensor that lives longer cannot lie there: the plan has both alive at node
  /// i.)
  bool may_run_early(std::size_t root, std::size_t i, TensorId consumed,
                     const SliceConsumer::Needs& needs,
                     const std::vector<std::size_t>& chain) const {
    for (const auto id : needs.reads)
      if (written_at_[static_cast<std::size_t>(id)] > root)
        return false;
    const auto elementwise = [&](TensorId id) {
      return id == consumed || std::ranges::count(needs.reads, id) > 0;
    };
    for (const auto target : needs.writes)
      for (std::size_t k = root; k <= i; ++k)
        for (const auto* ids : {&graph_.nodes[k].inputs, &graph_.nodes[k].outputs})
          for (const auto id : *ids) {
            const bool own = k == i && elementwise(id) && same_place(id, target);
            const bool produced =
                k == root && id == graph_.nodes[root].outputs[0] && same_place(id, target);
            const bool done = std::ranges::count(chain, k) > 0 && same_place(id, target);
            if (id != target && !own && !produced && !done && overlap(id, target))
              return false;
          }
    return true;
  }

  bool overlap(TensorId a, TensorId b) const {
    const auto& at = places_[static_cast<std::size_t>(a)];
    const auto& bt = places_[static_cast<std::size_t>(b)];
    if (at.kind != Place::Kind::arena || bt.kind != Place::Kind::arena)
      return false;
    return at.offset < bt.offset + bytes(b) && bt.offset < at.offset + bytes(a);
  }

  bool same_place(TensorId a, TensorId b) const {
    const auto& at = places_[static_cast<std::size_t>(a)];
    const auto& bt = places_[static_cast<std::size_t>(b)];
    return at.kind == bt.kind && at.offset == bt.offset && graph_[a].shape == graph_[b].shape &&
           graph_[a].dtype == graph_[b].dtype;
  }

  std::size_t bytes(TensorId id) const {
    return graph_[id].shape.count() * size_of(graph_[id].dtype);
  }

  const Graph& graph_;
  const std::vector<Place>& places_;
  const std::vector<Step*>& steps_;
  std::vector<std::size_t> written_at_; ///< index of the node that writes it, plus one
  std::vector<bool> fused_;
};

} // namespace

std::vector<TensorId> tensors_of(const Node& node) {
  auto tensors = node.inputs;
  tensors.insert(tensors.end(), node.outputs.begin(), node.outputs.end());
  return tensors;
}

void fuse_slices(const Graph& graph, const std::vector<Place>& places,
                 const std::vector<Step*>& steps) {
  Connector{graph, places, steps}.run();
}

} // namespace troupe::cpu
