#include "gpu/stream_list.hpp"

#include "gpu/cuda_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <thread>

namespace troupe::gpu {

namespace {

using Clock = std::chrono::steady_clock;

/// A microsecond operation that takes longer than this is blocked by the held stream.
constexpr std::chrono::milliseconds probe_limit{20};
/// Limit after which a held stream resumes, whatever happens to the thread that holds it.
constexpr std::chrono::milliseconds longest_hold{500};
/// At least the number of a device's hardware queues: after so many attempts, none is free.
constexpr int most_renewals = 32;

/// Not Stream::synchronize(): it waits for callbacks, and a callback may be destroying a stream,
/// which waits for the list.
void finish_probe(CudaStream& stream) {
  stream.enqueue("looking for shared queues", [](cudaStream_t raw) { cudaStreamSynchronize(raw); });
}

/// Holds a stream from construction to destruction.
class HeldStream {
public:
  explicit HeldStream(CudaStream& stream) : stream_{stream} {
    stream_.wait_for([over = over_, end = Clock::now() + longest_hold]() -> std::optional<Status> {
      if (*over || Clock::now() > end)
        return Status{};
      return std::nullopt;
    });
  }
  ~HeldStream() {
    *over_ = true;
    finish_probe(stream_);
  }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

private:
  CudaStream& stream_;
  std::shared_ptr<std::atomic<bool>> over_ = std::make_shared<std::atomic<bool>>(false);
};

bool reached_before_limit(const Event& event) {
  const auto end = Clock::now() + probe_limit;
  while (!event.ready()) {
    if (Clock::now() > end)
      return false;
    std::this_thread::sleep_for(std::chrono::microseconds{20});
  }
  return true;
}

bool separate_from_earlier(std::span<CudaStream* const> earlier, CudaStream& stream) {
  return std::ranges::none_of(earlier, [&](CudaStream* other) {
    return other->device() == stream.device() && share_queue(*other, stream);
  });
}

} // namespace

bool share_queue(CudaStream& held, CudaStream& other) {
  other.touch_scratch(); // loads its kernel, which would otherwise wait for the held stream
  finish_probe(other);
  bool in_time = false;
  {
    const HeldStream hold{held};
    other.touch_scratch();
    in_time = reached_before_limit(*other.record());
  }
  finish_probe(other);
  return !in_time;
}

void StreamList::add(CudaStream& stream) {
  const std::lock_guard lock{mutex_};
  streams_.push_back(&stream);
}

void StreamList::remove(CudaStream& stream) {
  const std::lock_guard lock{mutex_};
  std::erase(streams_, &stream);
}

void StreamList::separate(const std::function<void(const std::string& line)>& say) {
  const std::lock_guard lock{mutex_};
  std::set<int> full; // devices without a free queue
  for (std::size_t i = 1; i < streams_.size(); ++i) {
    auto& stream = *streams_[i];
    if (full.contains(stream.device()))
      continue;
    const std::span<CudaStream* const> earlier{streams_.data(), i};
    int again = 0;
    while (again < most_renewals && !separate_from_earlier(earlier, stream)) {
      stream.renew();
      ++again;
    }
    if (again == most_renewals)
      full.insert(stream.device());
    if (again > 0 && say)
      say(again < most_renewals
              ? fmt::format("a stream of CUDA device {} shared a hardware queue with another "
                            "stream and was replaced (attempts: {})",
                            stream.device(), again)
              : fmt::format("streams of CUDA device {} share a hardware queue: calls between "
                            "ranks may time out; set CUDA_DEVICE_MAX_CONNECTIONS to 32, or "
                            "lower devices.count",
                            stream.device()));
  }
}

} // namespace troupe::gpu
