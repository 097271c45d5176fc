/// What streams enqueue while they are captured, and which part of it comes after which other.
#pragma once

#include "tests/emulation/runtime/queue.hpp"

#include <cuda_runtime_api.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace emulation {

using NodeIndex = std::size_t;
using Tips = std::set<NodeIndex>; ///< nodes that what comes next depends on

struct GraphNode {
  Work work;
  Tips after;
};
using GraphNodes = std::vector<GraphNode>;

/// From a stream's beginning to its end; other streams join by waiting for its events. A thread's
/// captures are its own matter, as the product's are (cudaStreamCaptureModeThreadLocal); the other
/// modes are not supported.
struct Capture {
  cudaStream_t origin;
  std::thread::id thread;
  GraphNodes nodes;
  bool valid = true;

  /// A node behind `tips`, which become the node.
  void add(Work work, Tips& tips);
  /// Whether every node comes before one of `tips`.
  bool all_before(const Tips& tips) const;
};
using CapturePtr = std::shared_ptr<Capture>;

/// Whether the calling thread has begun a capture and not ended it.
bool capturing();

/// For calls that CUDA forbids to a thread that captures: the capture is lost with them.
cudaError_t refuse_while_capturing();

/// Guards captures, and what streams and events know of them.
std::mutex& capture_mutex();

/// The nodes in an order that respects their dependencies; one of many, where there is a seed.
void run_nodes(const GraphNodes& nodes);

} // namespace emulation
