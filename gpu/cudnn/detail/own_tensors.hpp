/// The tensors of a graph that its plan binds itself: constants, and scratch memory behind the
/// engine's workspace.
#pragma once

#include "gpu/cudnn/detail/operation_graph.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace troupe::gpu::cudnn {

/// The address of a tensor of the graph: 16-byte aligned device memory, or host memory of a
/// constant.
struct Binding {
  Uid uid;
  void* data;
};

class OwnTensors {
public:
  OwnTensors() = default;
  explicit OwnTensors(const OperationGraph& graph);

  std::size_t scratch_bytes() const { return scratch_bytes_; }
  /// Appends the bindings. Constants lie in this object.
  void bind(std::vector<Binding>& bindings, void* scratch) const;

private:
  std::vector<std::pair<Uid, float>> constants_;
  std::vector<std::pair<Uid, std::size_t>> scratch_; ///< with offsets in bytes
  std::size_t scratch_bytes_ = 0;
};

} // namespace troupe::gpu::cudnn
