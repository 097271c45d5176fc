/// Streams and events: the targets of the runtime's handles.
#pragma once

#include "tests/emulation/runtime/capture.hpp"
#include "tests/emulation/runtime/error.hpp"
#include "tests/emulation/runtime/handles.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

struct CUstream_st {
  int device;
  emulation::Queue& queue;
  emulation::CapturePtr capture = nullptr; ///< null: not captured
  emulation::Tips tips = {};
};

namespace emulation {

/// One record of an event: waits refer to this record, even when the event is recorded again or
/// destroyed.
class Record {
public:
  void reach();
  void wait();
  bool reached() const {
    const std::lock_guard lock{mutex_};
    return reached_;
  }
  /// Returns the time when the stream reached it.
  std::chrono::steady_clock::time_point time() const {
    const std::lock_guard lock{mutex_};
    return time_;
  }

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  std::chrono::steady_clock::time_point time_;
};

} // namespace emulation

struct CUevent_st {
  int device;
  bool timed;
  std::shared_ptr<emulation::Record> record = nullptr; ///< the last record; null before the first
  std::weak_ptr<emulation::Capture> capture = {};      ///< of the last record
  emulation::Tips tips = {};
  bool captured = false; ///< the last record was captured
};

struct CUgraph_st {
  emulation::GraphNodes nodes;
};

struct CUgraphExec_st {
  std::shared_ptr<const emulation::GraphNodes> nodes;
};

namespace emulation {

int current_device();
/// Whether the calling thread has chosen a device and therefore has a context. Stricter than CUDA,
/// whose runtime binds a context in some other calls too.
bool has_context();
/// Call in functions that need a context of the current device; creates the context when there is
/// none. A thread that has chosen no device uses the first.
void use_context();

/// Returns the stream of a handle; a null handle means the current device's default stream. Returns
/// null when the stream does not exist.
CUstream_st* stream_of(cudaStream_t handle);

/// Adds work to the stream, or to its capture.
cudaError_t enqueue(cudaStream_t handle, Work work);
/// Adds an operation on device memory. It does nothing while launches are recorded (recording.hpp).
cudaError_t enqueue_operation(cudaStream_t handle, Work work);

} // namespace emulation

/// For tests: whether this process has a context of the device, which takes half a gigabyte on a
/// GPU.
extern "C" bool troupe_emulated_context(int device);
