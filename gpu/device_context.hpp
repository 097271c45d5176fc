/// What the streams and events of one CUDA device share; it lives as long as any of them.
#pragma once

#include "detail/cuda_event.hpp"
#include "detail/cuda_memory.hpp"
#include "detail/staging_pool.hpp"
#include "poller.hpp"
#include "wait_flags.hpp"

#include <memory>

namespace troupe::gpu {

class DeviceContext {
public:
  /// Errors: those of the driver.
  static Result<std::shared_ptr<DeviceContext>> create(int device);
  explicit DeviceContext(int device);

  int index() const { return index_; }
  EventPool& events() { return events_; }
  EventClock& clock() { return clock_; }
  WaitFlags& flags() { return flags_; }
  Poller& poller() { return poller_; }
  CudaMemory& memory() { return *memory_; }
  StagingPool& staging() { return *staging_; }

private:
  Status start_clock();

  int index_;
  std::shared_ptr<CudaMemory> memory_;
  std::shared_ptr<StagingPool> staging_;
  EventPool events_;
  EventClock clock_; ///< after the pool: it holds an event
  WaitFlags flags_;
  Poller poller_; ///< last: its thread ends before what it uses
};

} // namespace troupe::gpu
