/// A thread that looks whether work is done and says so.
///
/// Knows nothing of CUDA: it is given functions that look. Entries of one lane (a stream) are done
/// in the order in which they were added; lanes do not wait for each other.
#pragma once

#include "core/error.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace troupe::gpu {

/// How long the poller sleeps between two looks: a sixteenth of the time in which nothing has been
/// done, within these bounds, so that a wait becomes little longer and the processor's share stays
/// small in long steps.
struct PollPacing {
  std::chrono::nanoseconds spin = std::chrono::microseconds{30};
  std::chrono::nanoseconds shortest = std::chrono::microseconds{20};
  std::chrono::nanoseconds longest = std::chrono::microseconds{200};

  /// 0: look again at once.
  std::chrono::nanoseconds nap(std::chrono::nanoseconds waited) const;
};

class Poller {
public:
  using Lane = std::uint64_t;
  /// Gives the outcome once there is one. Must not block; runs on the poller's thread.
  using Check = std::function<std::optional<Status>()>;
  /// Must not block: it may send a message. It may destroy streams, and the poller's owner.
  using Callback = std::function<void(Status)>;
  /// Returns what the thread owns until it ends.
  using Begin = std::function<std::shared_ptr<void>()>;

  /// `name` is the thread's (15 characters are kept). The thread calls `begin` first.
  explicit Poller(const std::string& name, const Begin& begin = {}, PollPacing pacing = {});
  /// Sees what is outstanding to its end. From a callback: leaves the thread to do so alone.
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// A lane that nobody else has.
  Lane new_lane();
  void add(Lane lane, Check check, Callback callback);
  /// Blocks until nothing of the lane is outstanding. From a callback: returns at once.
  void drain(Lane lane);
  /// Whether this is called from one of the poller's callbacks or checks.
  bool on_thread() const { return thread_.get_id() == std::this_thread::get_id(); }

private:
  struct Shared;

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

} // namespace troupe::gpu
