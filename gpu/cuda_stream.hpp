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

/// Errors of launches and of the device are kept: after the first, nothing more is enqueued. An
/// error that an earlier call left on the thread is logged, and the next operation is not blamed.
///
/// Destruction waits for what is enqueued, and for its callbacks; foreign events are not waited for
/// any more then: what stands behind them fails. From a callback of the device's poller it waits
/// for nothing.
class CudaStream final : public Stream {
public:
  /// A stream that cannot be made has failed from the start.
  CudaStream(std::shared_ptr<DeviceContext> context, const StreamOptions& options);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  /// Calls launch(cudaStream_t), which enqueues kernels or library calls and gives nothing or a
  /// Status, with the device current; unless the stream has failed. `operation` is for messages.
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

  /// Work enqueued from now on starts once `poll` gives an outcome; one that is an error fails the
  /// stream, and streams that wait for what stands behind it, and closes their gates before that
  /// work starts. `poll` runs on a thread that must not call CUDA (DeviceContext::waits). See
  /// WaitFlags for what may wait at a time.
  void wait_for(Poller::Check poll);
  /// Marks a point that such a `poll` can see. Null when the stream has failed.
  std::shared_ptr<StreamMark> mark();
  /// As record(), for threads that must not wait for the driver.
  EventPtr record_for_host() { return record(true, true); }
  /// Replaces the CUDA stream, which may give it another hardware queue (StreamList). Only while
  /// nothing is enqueued or captured.
  void renew();
  /// Enqueues an operation of microseconds that changes nothing.
  void touch_scratch();

  EventPtr record() override;
  void wait(EventPtr event) override;
  void on_complete(Callback callback) override;
  Status synchronize() override;
  /// NVTX: Nsight Systems shows the range over the kernels that were launched in it.
  void begin_range(const std::string& name) override;
  void end_range() override;

  cudaStream_t handle() const { return stream_; }
  int device() const { return context_->index(); }
  /// The first failure so far.
  Status status() const;
  bool failed() const { return !status(); }
  /// Keeps the status if it is the first failure.
  void note(Status status);
  /// Memory for the reductions of this stream's kernels, which run one after the other. A graph
  /// captured here must not run beside this stream's own work.
  const ReductionScratch& scratch() const { return scratch_; }
  /// Of a kernel that changes the training state and is enqueued next. In a graph: any wait of the
  /// stream that captured it closes the gate by failing, also one behind; that stream must live as
  /// long as the graph is launched.
  UpdateGate update_gate() const;
  /// The gates from now on are also closed unless *votes is `needed`.
  void gate_updates(const float* votes, float needed) { votes_ = {votes, needed}; }
  /// Whether what is enqueued is being captured into a graph.
  bool capturing() const;

private:
  std::shared_ptr<CudaEvent> record(bool timed, bool for_host);
  Result<cudaStream_t> make() const;
  void stand_behind(const HostWaits& waits);
  Poller::Check until_ready(EventPtr event);
  void forget_error_before(std::string_view operation);

  std::shared_ptr<DeviceContext> context_;
  std::shared_ptr<StreamState> state_; ///< shared with entries of the poller
  HostWaits waits_ = std::make_shared<HostWaits::element_type>(); ///< it stands behind them
  std::uint32_t last_wait_ = 0;
  UpdateVotes votes_;
  bool urgent_;
  std::chrono::milliseconds host_limit_;
  cudaStream_t stream_ = nullptr;
  Poller::Lane lane_;
  BufferPtr scratch_memory_;
  ReductionScratch scratch_;
};

/// The CUDA stream behind a stream of a CUDA device.
inline CudaStream& cuda_stream(Stream& stream) {
  return static_cast<CudaStream&>(stream);
}

} // namespace troupe::gpu
