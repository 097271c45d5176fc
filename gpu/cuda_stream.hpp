/// Streams of a CUDA device.
#pragma once

#include "core/device/device.hpp"
#include "gpu/cuda_error.hpp"
#include "gpu/detail/stream_state.hpp"
#include "gpu/device_context.hpp"
#include "gpu/device_guard.hpp"
#include "gpu/kernels/scratch.hpp"
#include "gpu/kernels/update_gate.hpp"

#include <cuda_runtime_api.h>

#include <chrono>
#include <memory>
#include <string_view>
#include <type_traits>

namespace troupe::gpu {

/// Keeps the first error of a launch or of the device, and enqueues nothing after it. An error that
/// an earlier call left on the thread is logged and not attributed to the next operation.
///
/// The destructor waits for the enqueued work and its callbacks. It does not wait for the host:
/// outstanding waits end with an error, and work after them fails. Called from a callback of the
/// device's poller, it waits for nothing.
class CudaStream final : public Stream {
public:
  /// If the CUDA stream cannot be created, this stream has failed from the start.
  CudaStream(std::shared_ptr<DeviceContext> context, const StreamOptions& options);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  /// Unless the stream has failed, calls launch(cudaStream_t) with the device current. `launch`
  /// enqueues kernels or library calls and returns nothing or a Status. `operation` is for
  /// messages.
  template <class Launch>
  void enqueue(std::string_view operation, Launch&& launch) {
    if (failed())
      return;
    const DeviceGuard guard{device()};
    forget_error_before(operation);
    if constexpr (std::is_void_v<std::invoke_result_t<Launch&, cudaStream_t>>)
      launch(handle());
    else
      note(launch(handle()));
    note(cuda_status(cudaGetLastError(), operation, device()));
  }

  /// Makes later work of this stream wait until `poll` returns an outcome. An error fails this
  /// stream and every stream that waits for the later work, and closes their update gates before
  /// that work starts. `poll` runs on a thread that must not call CUDA (DeviceContext::waits).
  /// WaitFlags limits how many streams may wait at a time.
  void wait_for(Poller::Check poll);
  /// Marks a point in the stream that such a `poll` can see. Null if the stream has failed.
  std::shared_ptr<StreamMark> mark();
  /// As record(), for threads that must not wait for the driver.
  EventPtr record_for_host() { return record(true, true); }
  /// Replaces the CUDA stream, which may assign it another hardware queue (StreamList).
  /// Precondition: nothing is enqueued or captured.
  void renew();
  /// Enqueues an operation that takes microseconds and changes nothing.
  void touch_scratch();

  EventPtr record() override;
  void wait(EventPtr event) override;
  void on_complete(Callback callback) override;
  Status synchronize() override;
  /// Opens an NVTX range: Nsight Systems shows it over the kernels that are launched inside it.
  void begin_range(const std::string& name) override;
  void end_range() override;

  cudaStream_t handle() const { return stream_; }
  int device() const { return context_->index(); }
  /// Returns the first failure so far.
  Status status() const;
  bool failed() const { return !status(); }
  /// Keeps the status if it is the first failure.
  void note(Status status);
  /// Memory for the reductions of this stream's kernels, which run one after the other. A graph
  /// captured here must not run concurrently with this stream's own work.
  const ReductionScratch& scratch() const { return scratch_; }
  /// Returns the gate for a kernel that changes the training state and is enqueued next. For a
  /// kernel in a graph, any failed wait of the stream that captured it closes the gate, even a
  /// later one; that stream must live as long as the graph is launched.
  UpdateGate update_gate() const;
  /// Also closes the gates returned from now on unless *votes equals `needed`.
  void gate_updates(const float* votes, float needed) { votes_ = {votes, needed}; }
  /// Whether work enqueued now is captured into a graph.
  bool capturing() const;

private:
  std::shared_ptr<CudaEvent> record(bool timed, bool for_host);
  Result<cudaStream_t> make() const;
  void stand_behind(const HostWaits& waits);
  Poller::Check until_ready(EventPtr event);
  void forget_error_before(std::string_view operation);

  std::shared_ptr<DeviceContext> context_;
  std::shared_ptr<StreamState> state_; ///< shared with entries of the poller
  HostWaits waits_ =
      std::make_shared<HostWaits::element_type>(); ///< waits that must end before new work starts
  std::uint32_t last_wait_ = 0;
  UpdateVotes votes_;
  bool urgent_;
  std::chrono::milliseconds host_limit_;
  cudaStream_t stream_ = nullptr;
  Poller::Lane lane_;
  BufferPtr scratch_memory_;
  ReductionScratch scratch_;
};

/// Casts to CudaStream. Precondition: the stream belongs to a CUDA device.
inline CudaStream& cuda_stream(Stream& stream) {
  return static_cast<CudaStream&>(stream);
}

} // namespace troupe::gpu
