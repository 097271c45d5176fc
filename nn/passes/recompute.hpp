/// Activation checkpointing: backward makes activations again instead of keeping them (Chen et al.,
/// "Training Deep Nets with Sublinear Memory Cost", 2016; any set of them, as in Jain et al.,
/// "Checkmate", 2020).
#pragma once

#include "core/graph/graph.hpp"

#include <vector>

namespace troupe::nn {

using TensorSet = std::vector<bool>; ///< by TensorId

/// Makes training graphs that differ in which activations they keep. Results are the same bits on
/// every device: what is made again comes from the same op and inputs, batch norm from the
/// statistics that it saved (Op::normalize), and no running statistic is updated twice.
class Recomputation {
public:
  /// For training graphs after all passes that look for patterns (autodiff, scale_loss,
  /// fuse_statistics).
  explicit Recomputation(const Graph& training);

  /// Activations that may be made again: forward's, read by backward nodes of the same unit alone.
  /// So what units give to each other is kept. Losses and statistics are kept, too.
  const std::vector<TensorId>& candidates() const { return candidates_; }

  /// The graph that makes these candidates again. A clone of the node that makes X stands right
  /// before the first backward node that reads X, in the same unit, and makes "X.again"; what it
  /// reads and nobody kept is made again, too. Has tensors that nobody uses. Valid until the next
  /// call.
  const Graph& with(const TensorSet& again);

  /// Nodes that it would clone besides, if it made this candidate again.
  std::vector<std::size_t> clones_for(TensorId candidate) const;
  /// The node that makes a candidate, by index in the training graph.
  std::size_t maker(TensorId candidate) const {
    return static_cast<std::size_t>(makers_[static_cast<std::size_t>(candidate)]);
  }

private:
  bool is_lost(TensorId id, UnitId reader) const;
  void collect(std::size_t node, std::vector<bool>& done, std::vector<std::size_t>& order) const;
  Node clone(std::size_t node) const;

  Graph training_, graph_;
  std::vector<int> makers_;      ///< by TensorId: index of the node to clone for it; -1: none
  std::vector<TensorId> clones_; ///< by TensorId: what its maker's clone writes; -1: nothing
  TensorSet saved_;              ///< read by backward
  std::vector<TensorId> candidates_;
  TensorSet again_;
  std::vector<bool> cloned_;
};

/// The graph without what nobody uses.
Graph recompute(const Graph& training, const TensorSet& again);

} // namespace troupe::nn
