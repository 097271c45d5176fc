#include "core/threads.hpp"

#include "core/fail.hpp"

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace troupe {

Status expect_threads(int count) {
  std::atomic<bool> enough = false;
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  Status result;
  try {
    while (static_cast<int>(threads.size()) < count)
      threads.emplace_back([&enough] { enough.wait(false); });
  } catch (const std::system_error& error) { // std::thread reports it only as an exception
    result = fail(Errc::unsupported,
                  "the system cannot start {} {}: {} after {}; raise the limit of processes and "
                  "threads (ulimit -u, pids.max of the container), or lower "
                  "devices.threads_per_worker or devices.count",
                  count, count == 1 ? "thread" : "threads", error.code().message(), threads.size());
  }
  enough = true;
  enough.notify_all();
  return result;
}

} // namespace troupe
