#include "tests/emulation/runtime/settings.hpp"
#include "tests/emulation/runtime/stream.hpp"

#include <algorithm>

namespace emulation {

namespace {

/// The capture that this thread has begun and not ended.
thread_local CapturePtr own_capture;

void leave(CUstream_st* stream) {
  stream->capture = nullptr;
  stream->tips.clear();
}

void collect_before(const GraphNodes& nodes, NodeIndex index, std::vector<bool>& seen) {
  if (seen[index])
    return;
  seen[index] = true;
  for (const auto before : nodes[index].after)
    collect_before(nodes, before, seen);
}

} // namespace

std::mutex& capture_mutex() {
  static std::mutex mutex;
  return mutex;
}

void Capture::add(Work work, Tips& tips) {
  nodes.push_back({std::move(work), tips});
  tips = {nodes.size() - 1};
}

bool Capture::all_before(const Tips& tips) const {
  std::vector<bool> seen(nodes.size());
  for (const auto tip : tips)
    collect_before(nodes, tip, seen);
  return std::ranges::all_of(seen, std::identity{});
}

bool capturing() {
  return own_capture != nullptr;
}

cudaError_t refuse_while_capturing() {
  const std::lock_guard lock{capture_mutex()};
  if (!own_capture)
    return cudaSuccess;
  own_capture->valid = false;
  return cudaErrorStreamCaptureUnsupported;
}

void run_nodes(const GraphNodes& nodes) {
  std::vector<std::size_t> missing(nodes.size());
  std::vector<NodeIndex> ready;
  for (NodeIndex i = 0; i < nodes.size(); ++i)
    if (missing[i] = nodes[i].after.size(); missing[i] == 0)
      ready.push_back(i);
  while (!ready.empty()) {
    const auto chosen = ready.begin() + chance(static_cast<std::uint32_t>(ready.size()));
    const auto done = *chosen;
    ready.erase(chosen);
    nodes[done].work();
    for (NodeIndex i = done + 1; i < nodes.size(); ++i)
      if (nodes[i].after.contains(done) && --missing[i] == 0)
        ready.push_back(i);
  }
}

} // namespace emulation

using namespace emulation;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  auto* const stream = stream_of(handle);
  const std::lock_guard lock{capture_mutex()};
  if (!stream || !handle || mode != cudaStreamCaptureModeThreadLocal)
    return remember(cudaErrorInvalidValue);
  if (stream->capture || own_capture)
    return remember(cudaErrorIllegalState);
  own_capture = std::make_shared<Capture>(Capture{handle, std::this_thread::get_id(), {}});
  stream->capture = own_capture;
  stream->tips.clear();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  *graph = nullptr;
  auto* const stream = stream_of(handle);
  const std::lock_guard lock{capture_mutex()};
  if (!stream || !stream->capture)
    return remember(cudaErrorIllegalState);
  const auto capture = stream->capture;
  if (capture->thread != std::this_thread::get_id())
    return remember(cudaErrorStreamCaptureWrongThread);
  if (capture->origin != handle)
    return remember(cudaErrorStreamCaptureUnmatched);
  const bool joined = capture->all_before(stream->tips);
  Handles<CUstream_st>::instance().for_each([&](CUstream_st* each) {
    if (each->capture == capture)
      leave(each);
  });
  own_capture = nullptr;
  if (!capture->valid)
    return remember(cudaErrorStreamCaptureInvalidated);
  if (!joined)
    return remember(cudaErrorStreamCaptureUnjoined);
  *graph = Handles<CUgraph_st>::instance().add(new CUgraph_st{std::move(capture->nodes)});
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  auto* const stream = stream_of(handle);
  if (!stream)
    return remember(cudaErrorInvalidResourceHandle);
  const std::lock_guard lock{capture_mutex()};
  *status = !stream->capture         ? cudaStreamCaptureStatusNone
            : stream->capture->valid ? cudaStreamCaptureStatusActive
                                     : cudaStreamCaptureStatusInvalidated;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  if (!Handles<CUgraph_st>::instance().has(graph) || flags != 0)
    return remember(cudaErrorInvalidValue);
  *executable = Handles<CUgraphExec_st>::instance().add(
      new CUgraphExec_st{std::make_shared<const GraphNodes>(graph->nodes)});
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (!Handles<CUgraphExec_st>::instance().has(executable))
    return remember(cudaErrorInvalidResourceHandle);
  return remember(enqueue(stream, [nodes = executable->nodes] { run_nodes(*nodes); }));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (!Handles<CUgraph_st>::instance().remove(graph))
    return remember(cudaErrorInvalidValue);
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  if (!Handles<CUgraphExec_st>::instance().remove(executable))
    return remember(cudaErrorInvalidValue);
  delete executable;
  return cudaSuccess;
}
}
