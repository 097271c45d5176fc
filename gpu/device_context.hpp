/// State that the streams and events of one CUDA device share. It lives as long as any of them.
#pragma once

#include "gpu/detail/cuda_event.hpp"
#include "gpu/detail/cuda_memory.hpp"
#include "gpu/detail/staging_pool.hpp"
#include "gpu/poller.hpp"
#include "gpu/stream_list.hpp"
#include "gpu/wait_flags.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace troupe::gpu {

/// Receives one line about each slow operation while graphs are compiled, and about each choice.
/// Called from several threads, one at a time.
using Say = std::function<void(const std::string& line)>;

/// State that the CUDA devices of one node share. Each node of a process has its own list of
/// streams. Copies share the original's state.
struct DevicePeers {
  std::shared_ptr<IdleCalls> idle_calls = IdleCalls::of_process();
  std::shared_ptr<StreamList> streams = std::make_shared<StreamList>();
};

class DeviceContext {
public:
  /// Errors: those of the driver.
  static Result<std::shared_ptr<DeviceContext>> create(int device, DevicePeers peers, Say say);
  DeviceContext(int device, DevicePeers peers, Say say);

  int index() const { return index_; }
  const DevicePeers& peers() const { return peers_; }
  EventPool& events() { return events_; }
  EventClock& clock() { return clock_; }
  WaitFlags& flags() { return flags_; }
  /// Polls events and calls back. Its thread may block in the driver.
  Poller& poller() { return poller_; }
  /// Ends waits of streams for the host. Its thread never calls CUDA, so it cannot block on a call
  /// that waits for those very streams. Its checks and callbacks must not call CUDA either, nor
  /// destroy objects that would.
  Poller& waits() { return waits_; }
  CudaMemory& memory() { return *memory_; }
  StagingPool& staging() { return *staging_; }
  void say(const std::string& line);

private:
  Status start_clock();

  int index_;
  DevicePeers peers_;
  Say say_;
  std::mutex saying_;
  std::shared_ptr<CudaMemory> memory_;
  std::shared_ptr<StagingPool> staging_;
  EventPool events_;
  EventClock clock_; ///< declared after the pool: it holds one of the pool's events
  WaitFlags flags_;
  Poller poller_; ///< its thread ends before what it uses
  Poller waits_;  ///< declared last: it hands ended waits to poller_
};

} // namespace troupe::gpu
