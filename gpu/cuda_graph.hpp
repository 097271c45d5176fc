/// A step's work, captured once and launched as a whole.
#pragma once

#include "gpu/cuda_stream.hpp"

#include <utility>

namespace troupe::gpu {

/// Movable, not copyable. The device and the memory that the work uses must outlive it.
class CudaGraph {
public:
  CudaGraph() = default;
  ~CudaGraph() { reset(); }
  CudaGraph(CudaGraph&& other) noexcept
      : graph_{std::exchange(other.graph_, nullptr)}, device_{other.device_} {}
  CudaGraph& operator=(CudaGraph&& other) noexcept {
    std::swap(graph_, other.graph_);
    std::swap(device_, other.device_);
    return *this;
  }

  /// From now on what this thread enqueues on the stream, and on streams of the device that wait
  /// for its events, is captured and does not run. Other threads may go on using the device.
  /// Foreign events and callbacks cannot be captured.
  static Status begin_capture(CudaStream& stream);
  /// Ends what begin_capture began, on the same thread. Errors: those of anything in between; the
  /// stream can be used again unless its own status says otherwise.
  static Result<CudaGraph> end_capture(CudaStream& stream);

  bool empty() const { return graph_ == nullptr; }
  /// Enqueues everything that was captured.
  void launch(CudaStream& stream) const;

private:
  void reset();

  cudaGraphExec_t graph_ = nullptr;
  int device_ = 0;
};

} // namespace troupe::gpu
