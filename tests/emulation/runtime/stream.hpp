/// Streams and events: what the runtime's handles point to.
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

/// One record of an event: who waits for it waits for this one, whatever becomes of the event.
class Record {
public:
  void reach();
  void wait();
  bool reached() const {
    const std::lock_guard lock{mutex_};
    return reached_;
  }
  /// When the stream came to it.
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
  std::shared_ptr<emulation::Record> record = nullptr; ///< the last one; null before the first
  std::weak_ptr<emulation::Capture> capture = {};      ///< of the last record
  emulation::Tips tips = {};
  bool captured = false; ///< the last record was
};

struct CUgraph_st {
  emulation::GraphNodes nodes;
};

struct CUgraphExec_st {
  std::shared_ptr<const emulation::GraphNodes> nodes;
};

namespace emulation {

int current_device();
/// Whether the calling thread has chosen a device, and so has a context of it. Stricter than CUDA,
/// whose runtime binds one at some other calls too.
bool has_context();
/// To be called by what needs a context of the current device, and makes it where there is none: a
/// thread that has chosen no device gets the first one's.
void use_context();

/// The stream behind a handle; null: the current device's own. Null where there is no such stream.
CUstream_st* stream_of(cudaStream_t handle);

/// Has the stream run this, or its capture keep it.
cudaError_t enqueue(cudaStream_t handle, Work work);

} // namespace emulation

/// For tests: whether this process has a context of the device, which takes half a gigabyte of a
/// GPU.
extern "C" bool troupe_emulated_context(int device);
