#include "gpu/cuda_graph.hpp"

#include "core/fail.hpp"
#include "gpu/cuda_error.hpp"
#include "gpu/device_guard.hpp"

namespace troupe::gpu {

Status CudaGraph::begin_capture(CudaStream& stream) {
  TROUPE_TRY(stream.status());
  const DeviceGuard guard{stream.device()};
  // Checks only this thread's calls: loaders and pollers continue to run.
  return cuda_status(cudaStreamBeginCapture(stream.handle(), cudaStreamCaptureModeThreadLocal),
                     "beginning a capture", stream.device());
}

Result<CudaGraph> CudaGraph::end_capture(CudaStream& stream) {
  const DeviceGuard guard{stream.device()};
  cudaGraph_t captured = nullptr;
  const auto code = cudaStreamEndCapture(stream.handle(), &captured);
  auto outcome = stream.status();
  if (outcome)
    outcome = cuda_status(code, "ending a capture", stream.device());
  CudaGraph graph;
  graph.device_ = stream.device();
  if (outcome)
    outcome = cuda_status(cudaGraphInstantiate(&graph.graph_, captured, 0),
                          "instantiating a CUDA graph", stream.device());
  if (captured)
    cudaGraphDestroy(captured);
  cudaGetLastError(); // clears the error, which `outcome` holds
  if (!outcome)
    return failure(std::move(outcome).error());
  return graph;
}

void CudaGraph::launch(CudaStream& stream) const {
  stream.enqueue("launching a CUDA graph",
                 [this](cudaStream_t handle) { cudaGraphLaunch(graph_, handle); });
}

void CudaGraph::reset() {
  if (!graph_)
    return;
  const DeviceGuard guard{device_};
  cudaGraphExecDestroy(graph_);
  graph_ = nullptr;
}

} // namespace troupe::gpu
