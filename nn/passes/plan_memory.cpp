#include "nn/passes/plan_memory.hpp"

#include "core/fail.hpp"
#include "nn/cost.hpp"
#include "nn/ops/record.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace troupe::nn {

namespace {

/// A block of the arena: an activation, or several that reuse its memory in place.
struct Block {
  std::size_t bytes = 0;
  int first = 0, last = 0; ///< indices of nodes, inclusive
  std::size_t offset = 0;

  bool meets(const Block& other) const { return first <= other.last && other.first <= last; }
  std::size_t end() const { return offset + bytes; }
};

std::size_t round_up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Computes which activations share a block, and the lifetime of each block.
class Lifetimes {
public:
  Lifetimes(const Graph& graph, const PlanOptions& options, const std::vector<bool>& kept)
      : graph_{graph}, options_{options}, last_use_(graph.tensors.size(), -1),
        block_of_(graph.tensors.size(), -1) {
    const auto nodes = static_cast<int>(graph.nodes.size());
    for (int i = 0; i < nodes; ++i) {
      const auto& node = graph.nodes[static_cast<std::size_t>(i)];
      for (const auto* ids : {&node.inputs, &node.outputs})
        for (const auto id : *ids)
          last_use_[static_cast<std::size_t>(id)] = i;
    }
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (kept[i])
        last_use_[i] = nodes;
    for (int i = 0; i < nodes; ++i)
      add_outputs(i);
  }

  std::vector<Block>& blocks() { return blocks_; }
  /// Returns the block of a tensor, by TensorId; -1 if it is not in the arena.
  int block_of(std::size_t id) const { return block_of_[id]; }

private:
  void add_outputs(int at) {
    const auto& node = graph_.nodes[static_cast<std::size_t>(at)];
    for (const auto id : node.outputs) {
      if (graph_[id].role != Role::activation)
        continue;
      const auto i = static_cast<std::size_t>(id);
      const int reused = id == node.outputs[0] ? reusable(node, at) : -1;
      if (reused >= 0) {
        block_of_[i] = reused;
        blocks_[static_cast<std::size_t>(reused)].last = last_use_[i];
      } else {
        block_of_[i] = static_cast<int>(blocks_.size());
        blocks_.push_back({round_up(bytes(id), options_.alignment), at, last_use_[i]});
      }
    }
  }

  std::size_t bytes(TensorId id) const { return bytes_of(graph_[id]); }

  /// Returns the block of an input that is not used after this node and that the first output can
  /// overwrite; -1 if there is none.
  int reusable(const Node& node, int at) const {
    const std::size_t extra = std::ranges::count(options_.also_in_place, node.op) > 0 ? 1 : 0;
    const auto& record = record_of(node.op);
    const auto candidates = std::max(record.in_place, extra);
    for (std::size_t i = 0; i < candidates; ++i)
      if (can_take_over(node, node.inputs[i], at))
        return block_of_[static_cast<std::size_t>(node.inputs[i])];
    const auto also = record.also_in_place ? record.also_in_place(node) : std::nullopt;
    return also && can_take_over(node, node.inputs[*also], at)
               ? block_of_[static_cast<std::size_t>(node.inputs[*also])]
               : -1;
  }

  bool can_take_over(const Node& node, TensorId input, int at) const {
    const auto output = node.outputs[0];
    return graph_[input].role == Role::activation &&
           last_use_[static_cast<std::size_t>(input)] == at && bytes(input) == bytes(output) &&
           graph_[input].dtype == graph_[output].dtype;
  }

  const Graph& graph_;
  const PlanOptions& options_;
  std::vector<int> last_use_;
  std::vector<Block> blocks_;
  std::vector<int> block_of_;
};

/// Places blocks at offsets in the given order; returns the arena's size.
std::size_t place(std::vector<Block>& blocks, const std::vector<std::size_t>& order) {
  std::vector<const Block*> placed; // in ascending order of offset
  std::size_t arena = 0;
  for (const auto index : order) {
    auto& block = blocks[index];
    std::size_t free_from = 0, best = 0, best_gap = static_cast<std::size_t>(-1);
    for (const auto* other : placed) {
      if (!other->meets(block))
        continue;
      if (other->offset >= free_from + block.bytes && other->offset - free_from < best_gap) {
        best = free_from;
        best_gap = other->offset - free_from;
      }
      free_from = std::max(free_from, other->end());
    }
    block.offset = best_gap == static_cast<std::size_t>(-1) ? free_from : best;
    placed.insert(std::ranges::upper_bound(placed, block.offset, {},
                                           [](const Block* other) { return other->offset; }),
                  &block);
    arena = std::max(arena, block.end());
  }
  return arena;
}

std::vector<std::size_t> sum_up(const std::vector<Block>& blocks, std::size_t nodes) {
  std::vector<std::size_t> begins(nodes + 1), ends(nodes + 1);
  for (const auto& block : blocks) {
    begins[static_cast<std::size_t>(block.first)] += block.bytes;
    ends[static_cast<std::size_t>(block.last)] += block.bytes;
  }
  std::vector<std::size_t> live(nodes);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    live[i] = bytes += begins[i];
    bytes -= ends[i];
  }
  return live;
}

Result<std::vector<bool>> find_kept(const Graph& graph, const PlanOptions& options) {
  std::vector<bool> kept(graph.tensors.size());
  for (const auto& name : options.keep) {
    const auto id = graph.find(name);
    if (!id)
      return fail(Errc::invalid_input, "the memory plan cannot keep {}: there is no such tensor",
                  name);
    kept[static_cast<std::size_t>(*id)] = true;
  }
  return kept;
}

std::size_t place_best(std::vector<Block>& blocks) {
  using Key = std::function<std::size_t(const Block&)>;
  const auto length = [](const Block& b) { return static_cast<std::size_t>(b.last - b.first) + 1; };
  const std::array<Key, 3> keys = {
      [](const Block& b) { return b.bytes; },
      [&](const Block& b) { return b.bytes * length(b); },
      [](const Block& b) {
        return static_cast<std::size_t>(-1) - static_cast<std::size_t>(b.first);
      },
  };
  std::size_t best_arena = static_cast<std::size_t>(-1);
  std::vector<Block> best;
  for (const auto& key : keys) {
    std::vector<std::size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return key(blocks[i]); });
    const auto arena = place(blocks, order);
    if (arena < best_arena) {
      best_arena = arena;
      best = blocks;
    }
  }
  blocks = std::move(best);
  return best_arena;
}

} // namespace

Result<MemoryPlan> plan_memory(const Graph& graph, const PlanOptions& options) {
  TROUPE_TRY(auto kept, find_kept(graph, options));
  Lifetimes lifetimes{graph, options, kept};
  auto& blocks = lifetimes.blocks();
  MemoryPlan plan;
  plan.kept = std::move(kept);
  plan.arena_bytes = place_best(blocks);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto block = lifetimes.block_of(i);
    plan.offsets.push_back(block < 0 ? MemoryPlan::not_in_arena
                                     : blocks[static_cast<std::size_t>(block)].offset);
  }
  return plan;
}

Result<std::vector<std::size_t>> live_bytes(const Graph& graph, const PlanOptions& options) {
  TROUPE_TRY(auto kept, find_kept(graph, options));
  return sum_up(Lifetimes{graph, options, kept}.blocks(), graph.nodes.size());
}

} // namespace troupe::nn
