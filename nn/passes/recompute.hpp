/// Activation checkpointing: backward recomputes activations instead of keeping them (Chen et al.,
/// "Training Deep Nets with Sublinear Memory Cost", 2016; any set of them, as in Jain et al.,
/// "Checkmate", 2020).
#pragma once

#include "core/config/recompute.hpp"
#include "core/error.hpp"
#include "core/graph/graph.hpp"
#include "nn/passes/plan_memory.hpp"

#include <vector>

namespace troupe::nn {

using TensorSet = std::vector<bool>; ///< by TensorId

/// Creates training graphs that differ in the activations that they keep. Results have the same
/// bits on every device: a recomputed tensor comes from the same op and inputs, batch norm uses the
/// statistics that it saved (Op::normalize), and no running statistic is updated twice.
class Recomputation {
public:
  /// Precondition: all passes that search for patterns have run (autodiff, scale_loss,
  /// fuse_statistics).
  explicit Recomputation(const Graph& training);

  /// Returns the activations that can be recomputed: forward activations that only backward nodes
  /// of the same unit read. Activations that units pass to each other, losses and statistics are
  /// kept.
  const std::vector<TensorId>& candidates() const { return candidates_; }

  /// Returns the graph that recomputes these candidates. A clone of the node that writes X precedes
  /// the first backward node that reads X, in the same unit, and writes "X.again". Its inputs are
  /// recomputed, too, if they are not kept. The graph contains unused tensors. Valid until the next
  /// call.
  const Graph& with(const TensorSet& again);

  /// Returns the nodes that with() would clone in addition if it also recomputed this candidate.
  std::vector<std::size_t> clones_for(TensorId candidate) const;
  /// Returns the node that writes a candidate, by index in the training graph.
  std::size_t maker(TensorId candidate) const {
    return static_cast<std::size_t>(makers_[static_cast<std::size_t>(candidate)]);
  }

private:
  bool is_lost(TensorId id, UnitId reader) const;
  void collect(std::size_t node, std::vector<bool>& done, std::vector<std::size_t>& order) const;
  Node clone(std::size_t node) const;

  Graph training_, graph_;
  std::vector<int> makers_;      ///< by TensorId: index of the node to clone; -1: none
  std::vector<TensorId> clones_; ///< by TensorId: output of the clone; -1: none
  TensorSet saved_;              ///< read by backward
  std::vector<TensorId> candidates_;
  TensorSet again_;
  std::vector<bool> cloned_;
};

/// Returns the activations that backward recomputes: the choice of `config` for a graph that
/// Recomputation accepts:
///
/// - block, names: all candidates of all units, or of the named ones.
/// - fit: one candidate after another, until the arena is small enough. Among the candidates that
///   are live at the memory peak, it takes the one that saves the most bytes per time of
///   recomputing it (NodeCost::time; greedy as in Peng et al., "Capuchin", 2020).
///
/// Then it removes candidates that need not be recomputed, in order of time per byte, while the
/// arena (as plan_memory plans it) stays within the requested size. For block and names, that size
/// is the one with all candidates recomputed, plus 1/16 of what that saves. So much of the last
/// units is kept, because their activations are needed immediately.
///
/// Errors: invalid_input for a size that cannot be reached, with the smallest possible size; as
/// plan_memory. Names that the config check refuses choose nothing.
Result<TensorSet> choose_recompute(const Graph& training, const RecomputeConfig& config,
                                   const PlanOptions& memory);

/// Returns the graph that recomputes `again`, without unused tensors.
Graph recompute(const Graph& training, const TensorSet& again);

} // namespace troupe::nn
