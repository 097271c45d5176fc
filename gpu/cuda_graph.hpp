/// Work of a step, captured once and launched as a whole.
#pragma once

#include "gpu/cuda_stream.hpp"

#include <memory>
#include <type_traits>
#include <utility>

namespace troupe::gpu {

/// Movable, not copyable. The device and the memory that the captured work uses must outlive it.
class CudaGraph {
public:
  CudaGraph() = default;

  /// Begins a capture: work that this thread enqueues on the stream, and on streams of the device
  /// that wait for its events, is recorded and does not run. Other threads may continue to use the
  /// device. Waits for events that are not CUDA events, and callbacks, cannot be captured.
  static Status begin_capture(CudaStream& stream);
  /// Ends the capture; must run on the thread that called begin_capture. Errors: those of any
  /// operation in between. The stream can be used again unless its own status is an error.
  static Result<CudaGraph> end_capture(CudaStream& stream);

  /// Enqueues the captured work.
  void launch(CudaStream& stream) const;

private:
  struct Destroy {
    int device;
    void operator()(cudaGraphExec_t graph) const;
  };
  using Handle = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy>;

  explicit CudaGraph(Handle graph) : graph_{std::move(graph)} {}

  Handle graph_;
};

} // namespace troupe::gpu
