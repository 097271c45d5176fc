/// Captured work of streams, and the order of its parts.
#pragma once

#include "tests/emulation/runtime/queue.hpp"

#include <cuda_runtime_api.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace emulation {

using NodeIndex = std::size_t;
using Tips = std::set<NodeIndex>; ///< nodes that the next node depends on

struct GraphNode {
  Work work;
  Tips after;
};
using GraphNodes = std::vector<GraphNode>;

/// A capture, from its start on a stream to its end; other streams join by waiting for its events.
/// Captures belong to one thread, as troupe's do (cudaStreamCaptureModeThreadLocal); the other
/// modes are not supported.
struct Capture {
  cudaStream_t origin;
  std::thread::id thread;
  GraphNodes nodes;
  bool valid = true;

  /// Adds a node that depends on `tips`; `tips` becomes this node.
  void add(Work work, Tips& tips);
  /// Whether every node comes before one of `tips`.
  bool all_before(const Tips& tips) const;
};
using CapturePtr = std::shared_ptr<Capture>;

/// Whether the calling thread has begun a capture and not ended it.
bool capturing();

/// Call in functions that CUDA forbids to a capturing thread: they invalidate the capture.
cudaError_t refuse_while_capturing();

/// Guards captures, and the members of streams and events that refer to them.
std::mutex& capture_mutex();

/// Runs the nodes in an order that respects their dependencies; in a random one when a seed is set.
void run_nodes(const GraphNodes& nodes);

} // namespace emulation
