/// What the passes share that join nodes where a device is faster with it (fuse_statistics,
/// fuse_max_pool, fuse_loss, fuse_block_ends, finish_block_ends).
#pragma once

#include "nn/passes/fuse_statistics.hpp"

namespace troupe::nn {

using NodeIndex = std::size_t;

/// Microseconds; none where a device does not run it.
using Time = std::optional<double>;

Time operator+(const Time& a, const Time& b);

/// Times of the same work, done in two ways.
struct Ways {
  Time fused, apart;
};

/// Not synchronized, and not joined with a pooling.
bool is_batch_norm_of_this_rank(const Node& node, Op op);

/// A training graph that is being rewritten. Who makes and who reads a tensor is told as it was at
/// the beginning.
class FusionDraft {
public:
  /// `support` and `keep` must outlive it.
  FusionDraft(const Graph& training, const FusionSupport& support,
              const std::vector<std::string>& keep);

protected:
  /// What has become of it, without tensors that nobody uses.
  Graph take() &&;

  static Conv2dAttributes& convolution(Node& node) {
    return std::get<Conv2dAttributes>(node.attributes);
  }
  const std::vector<NodeIndex>& readers(TensorId id) const {
    return readers_[static_cast<std::size_t>(id)];
  }
  /// Graph inputs have no maker.
  std::optional<NodeIndex> maker(TensorId id) const {
    return makers_[static_cast<std::size_t>(id)];
  }
  /// The node of this kind whose first output a tensor is.
  std::optional<NodeIndex> maker(TensorId id, Op op) const;
  /// Whether somebody besides nodes wants the tensor.
  bool is_kept(TensorId id) const;

  Time time(const Node& node) const { return support_.microseconds(graph_, node); }
  bool runs(const Node& node) const { return time(node).has_value(); }
  /// Whether the nodes are to be joined, which the support is told.
  bool choose(std::string_view what, TensorId at, const Ways& ways) const;

  /// A new tensor of values by channel.
  TensorId by_channel(TensorId like, const char* suffix, DType type = DType::f32);

  void drop(NodeIndex node) { dropped_[node] = true; }
  void put_before(NodeIndex node, Node added) { before_[node].push_back(std::move(added)); }

  Graph graph_;
  std::vector<Node> nodes_;               ///< as they become, by their place in the graph as it was
  std::vector<std::vector<Node>> before_; ///< what stands ahead of each of them

private:
  const FusionSupport& support_;
  const std::vector<std::string>& keep_;
  std::vector<std::optional<NodeIndex>> makers_; ///< by TensorId
  std::vector<std::vector<NodeIndex>> readers_;  ///< by TensorId
  std::vector<bool> dropped_;
};

/// Lets batch_norm_finalize give factor and offset as these tensors of another type than f32; the
/// f32 ones too, when `also_f32`.
void narrow(Node& finalize, TensorId factor, TensorId offset, DType type, bool also_f32);

} // namespace troupe::nn
