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
  cudaGraphExec_t graph = nullptr;
  if (outcome)
    outcome = cuda_status(cudaGraphInstantiate(&graph, captured, 0), "instantiating a CUDA graph",
                          stream.device());
  if (captured)
    cudaGraphDestroy(captured);
  cudaGetLastError(); // clears the error, which `outcome` holds
  Handle owned{graph, Destroy{stream.device()}};
  if (!outcome)
    return failure(std::move(outcome).error());
  return CudaGraph{std::move(owned)};
}

void CudaGraph::launch(CudaStream& stream) const {
  stream.enqueue("launching a CUDA graph",
                 [this](cudaStream_t handle) { cudaGraphLaunch(graph_.get(), handle); });
}

void CudaGraph::Destroy::operator()(cudaGraphExec_t graph) const {
  const DeviceGuard guard{device};
  cudaGraphExecDestroy(graph);
}

} // namespace troupe::gpu
