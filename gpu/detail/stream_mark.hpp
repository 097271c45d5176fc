/// Points in a stream's work that the host can poll without calling CUDA.
#pragma once

#include "core/error.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace troupe::gpu {

class DeviceContext;

/// A word of page-locked memory that the stream writes when it reaches this point. Threads that end
/// waits read it: an event query could block on the very wait that they have to end
/// (idle_calls.hpp). Thread-safe except for age().
class StreamMark {
public:
  /// `word`: a flag of the context that is not raised.
  StreamMark(std::shared_ptr<DeviceContext> context, std::uint32_t* word);
  /// Precondition: the stream has reached this point, or the device has failed.
  ~StreamMark();
  StreamMark(const StreamMark&) = delete;
  StreamMark& operator=(const StreamMark&) = delete;

  /// Empty until the stream reaches this point; an error if the device fails before that.
  std::optional<Status> poll() const;
  void fail(const Status& why);
  /// Time since the first call that found the point reached; empty before. For one thread.
  std::optional<std::chrono::nanoseconds> age();

private:
  std::shared_ptr<DeviceContext> context_;
  std::uint32_t* word_;
  mutable std::mutex mutex_;
  std::optional<Status> failure_;
  std::optional<std::chrono::steady_clock::time_point> seen_;
};

} // namespace troupe::gpu
