/// Base of the passes that fuse nodes.
#pragma once

#include "nn/passes/fuse_training.hpp"

namespace troupe::nn {

using NodeIndex = std::size_t;

/// Microseconds; empty if the device does not support the node.
using Time = std::optional<double>;

Time operator+(const Time& a, const Time& b);

/// Times of the same work, fused and separate.
struct Ways {
  Time fused, apart;
};

/// For passes that always fuse.
inline const FusionSupport no_support = {};

/// Returns whether the node is a training batch norm that is neither synchronized nor fused with a
/// pooling.
bool is_batch_norm_of_this_rank(const Node& node, Op op);

/// A graph that is being rewritten. maker() and readers() refer to the original graph.
class FusionDraft {
public:
  /// `support` and `keep` must outlive it.
  FusionDraft(const Graph& graph, const FusionSupport& support,
              const std::vector<std::string>& keep);

protected:
  /// Returns the rewritten graph without unused tensors.
  Graph take() &&;

  static Conv2dAttributes& convolution(Node& node) {
    return std::get<Conv2dAttributes>(node.attributes);
  }
  const std::vector<NodeIndex>& readers(TensorId id) const {
    return readers_[static_cast<std::size_t>(id)];
  }
  /// Returns the node that writes a tensor; nothing for graph inputs.
  std::optional<NodeIndex> maker(TensorId id) const {
    return makers_[static_cast<std::size_t>(id)];
  }
  /// Returns the node of this op whose first output is the tensor.
  std::optional<NodeIndex> maker(TensorId id, Op op) const;
  bool has_one_reader(TensorId id) const { return readers(id).size() == 1; }
  /// Returns whether the tensor is needed outside of the graph's nodes.
  bool is_kept(TensorId id) const;

  Time time(const Node& node) const { return support_.microseconds(graph_, node); }
  bool runs(const Node& node) const { return time(node).has_value(); }
  /// Returns whether to fuse the nodes, and reports the choice to the support.
  bool choose(std::string_view what, TensorId at, const Ways& ways) const;

  /// Adds a tensor with one value per channel.
  TensorId by_channel(TensorId like, const char* suffix, DType type = DType::f32);

  void drop(NodeIndex node) { dropped_[node] = true; }
  bool is_dropped(NodeIndex node) const { return dropped_[node]; }
  void put_before(NodeIndex node, Node added) { before_[node].push_back(std::move(added)); }

  Graph graph_;
  std::vector<Node> nodes_;               ///< rewritten nodes, by index in the original graph
  std::vector<std::vector<Node>> before_; ///< nodes to insert before each original node

private:
  const FusionSupport& support_;
  const std::vector<std::string>& keep_;
  std::vector<std::optional<NodeIndex>> makers_; ///< by TensorId
  std::vector<std::vector<NodeIndex>> readers_;  ///< by TensorId
  std::vector<bool> dropped_;
};

/// Makes batch_norm_finalize write factor and offset to these tensors, which have a type other than
/// f32. If `also_f32` is set, it writes the f32 tensors, too.
void narrow(Node& finalize, TensorId factor, TensorId offset, DType type, bool also_f32);

/// Backward half of fuse_block_ends: add, batch_norm_backward {relu} -> conv2d_backward_data
/// {batch_norm_relu}, batch_norm_input_gradient.
Graph fuse_end_gradients(const Graph& training, const FusionSupport& support,
                         const std::vector<std::string>& keep);

} // namespace troupe::nn
