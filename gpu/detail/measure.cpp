#include "gpu/detail/measure.hpp"

#include "core/fail.hpp"
#include "core/float16.hpp"
#include "core/random.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace troupe::gpu {

namespace {

Status check(cudaError_t error, const char* doing) {
  if (error == cudaSuccess)
    return {};
  return fail(Errc::device, "CUDA, {}: {}", doing, cudaGetErrorString(error));
}

struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using EventHandle = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

Result<EventHandle> make_event() {
  cudaEvent_t event = nullptr;
  TROUPE_TRY(check(cudaEventCreate(&event), "making an event"));
  return EventHandle(event);
}

/// Returns the microseconds of one run in a stretch of runs on the device.
Result<double> time_stretch(cudaStream_t stream, const std::function<Status()>& enqueue, int runs) {
  TROUPE_TRY(const auto begin, make_event());
  TROUPE_TRY(const auto end, make_event());
  TROUPE_TRY(check(cudaEventRecord(begin.get(), stream), "recording an event"));
  for (int i = 0; i < runs; ++i)
    TROUPE_TRY(enqueue());
  TROUPE_TRY(check(cudaEventRecord(end.get(), stream), "recording an event"));
  TROUPE_TRY(check(cudaEventSynchronize(end.get()), "running a candidate"));
  float milliseconds = 0;
  TROUPE_TRY(check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "timing"));
  return 1e3 * static_cast<double>(milliseconds) / runs;
}

/// The first run loads kernels; the second determines how many runs fill a stretch.
Result<double> least_of(cudaStream_t stream, const std::function<Status()>& enqueue) {
  constexpr double microseconds = 2000;
  constexpr int stretches = 5;
  TROUPE_TRY(time_stretch(stream, enqueue, 1));
  TROUPE_TRY(const double one, time_stretch(stream, enqueue, 1));
  const int runs = static_cast<int>(std::clamp(microseconds / std::max(one, 1.0), 1.0, 10.0));
  auto least = std::numeric_limits<double>::max();
  for (int i = 0; i < stretches; ++i) {
    TROUPE_TRY(const double time, time_stretch(stream, enqueue, runs));
    least = std::min(least, time);
  }
  return least;
}

std::vector<std::uint16_t> random_halves(std::size_t count) {
  CounterRng random{1, 0};
  std::vector<std::uint16_t> halves(count);
  for (auto& half : halves)
    half = f16_from_float(random.normal());
  return halves;
}

} // namespace

Status wake_up(cudaStream_t stream, std::byte* memory, std::size_t bytes) {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + std::chrono::milliseconds{50}; Clock::now() < end;) {
    TROUPE_TRY(check(cudaMemsetAsync(memory, 0, bytes, stream), "warming up the device"));
    TROUPE_TRY(check(cudaStreamSynchronize(stream), "warming up the device"));
  }
  return {};
}

/// Fills with copies of one block of numbers.
Status fill_with_random_halves(CudaDevice& device, Stream& stream, std::byte* memory,
                               std::size_t bytes) {
  const auto block = random_halves(std::size_t{1} << 19);
  const auto block_bytes = block.size() * sizeof block[0];
  for (std::size_t at = 0; at < bytes; at += block_bytes)
    device.copy(stream, memory + at, at == 0 ? static_cast<const void*>(block.data()) : memory,
                std::min(block_bytes, bytes - at));
  return stream.synchronize();
}

/// A candidate that is rejected at its launch may leave an error on the thread, which the next
/// operation would report.
Result<double> least_microseconds(cudaStream_t stream, const std::function<Status()>& enqueue) {
  auto least = least_of(stream, enqueue);
  if (!least)
    cudaGetLastError();
  return least;
}

Result<std::size_t> fastest(std::span<const Result<double>> times) {
  std::optional<std::size_t> best;
  std::string refused = "there are no candidates";
  for (std::size_t i = 0; i < times.size(); ++i)
    if (!times[i])
      refused = times[i].error().message;
    else if (!best || *times[i] < *times[*best])
      best = i;
  if (!best)
    return fail(Errc::device, "no candidate ran; last: {}", refused);
  return *best;
}

} // namespace troupe::gpu
