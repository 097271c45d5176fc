#include "cpu/bandwidth.hpp"

#include "cpu/detail/core_threads.hpp"
#include "cpu/host_device.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <vector>

namespace troupe::cpu {

namespace {

using Clock = std::chrono::steady_clock;

/// All cores move data in the same windows of time, and the fastest window counts: other programs
/// slow down some of them.
constexpr int windows = 8;
constexpr auto window = std::chrono::milliseconds{12};
constexpr std::size_t mebi = std::size_t{1} << 20;
/// So many that reading the clock takes no time beside them.
constexpr std::size_t bytes_between_looks = 2 * mebi;

/// Returns memory in huge pages as a device's, all of which is present; null if there is too
/// little.
BufferPtr make_memory(std::size_t bytes) {
  auto memory = make_host_device(0, 1)->allocate(bytes, MemoryKind::workspace);
  if (!memory)
    return nullptr;
  std::fill_n((*memory)->floats(), bytes / sizeof(float), 1.0f);
  return *std::move(memory);
}

/// Returns the bytes per second in each window from `begin` on.
std::array<double, windows> rates_of_windows(MemoryAccess access, const LoopArrays& arrays,
                                             Clock::time_point begin) {
  std::array<double, windows> rates{};
  const auto bytes_of_loop = bytes_moved(access, arrays.bytes);
  const auto loops = std::max(bytes_between_looks / bytes_of_loop, std::size_t{1});
  const auto moved = static_cast<double>(loops * bytes_of_loop);
  const auto run_loops = [&] {
    for (std::size_t i = 0; i < loops; ++i)
      run_loop(access, arrays);
  };
  for (int i = 0; i < windows; ++i) {
    while (Clock::now() < begin + i * window)
      run_loops(); // until the others have begun
    const auto start = Clock::now();
    double bytes = 0;
    auto now = start;
    for (; now < begin + (i + 1) * window; now = Clock::now(), bytes += moved)
      run_loops();
    if (now > start)
      rates[static_cast<std::size_t>(i)] =
          bytes / std::chrono::duration<double>(now - start).count();
  }
  return rates;
}

/// Cores that measure together, and the time at which all begin.
class Rendezvous {
public:
  explicit Rendezvous(std::size_t cores) : missing_{cores} {}

  /// Waits for the others, but not for those that the system could not start.
  Clock::time_point wait() {
    --missing_;
    const auto limit = Clock::now() + std::chrono::seconds{1};
    while (missing_ > 0 && Clock::now() < limit) {
    }
    auto none = Clock::time_point::min();
    begin_.compare_exchange_strong(none, Clock::now() + std::chrono::milliseconds{1});
    return begin_;
  }

private:
  std::atomic<std::size_t> missing_;
  std::atomic<Clock::time_point> begin_ = Clock::time_point::min();
};

} // namespace

std::size_t working_set(MemoryLevel level, const Caches& caches, std::size_t cores) {
  const auto& [l1, l2, l3] = caches;
  const auto sharing = std::min(cores, static_cast<std::size_t>(l3.threads));
  switch (level) {
  case MemoryLevel::l1:
    return l1.bytes / 2;
  case MemoryLevel::l2:
    return std::max(l2.bytes / 2, 2 * l1.bytes);
  case MemoryLevel::l3:
    return l3.bytes == 0 ? 0 : std::max(l3.bytes / 2 / sharing, 2 * l2.bytes);
  case MemoryLevel::memory:
    break;
  }
  // Not divided among the cores: in a virtual machine, each may have more of a cache than is
  // listed.
  return std::max(64 * mebi, 4 * l3.bytes);
}

double measure_bandwidth(MemoryAccess access, std::size_t bytes, int cores) {
  const auto arrays = arrays_of(access);
  const auto size = std::max(bytes / arrays / loop_granularity, std::size_t{1}) * loop_granularity;
  const auto count = measured_cores(cores);
  std::vector<std::array<double, windows>> rates(count);
  Rendezvous rendezvous{count};
  sum_over_cores(cores, [&](std::size_t core) {
    const auto memory = make_memory(size * arrays);
    if (!memory)
      return 0.0;
    const auto elements = size / sizeof(float);
    float* const a = memory->floats();
    const LoopArrays views{a, a + (arrays > 1 ? elements : 0), a + (arrays > 2 ? 2 * elements : 0),
                           size};
    rates[core] = rates_of_windows(access, views, rendezvous.wait());
    return 0.0;
  });
  double fastest = 0;
  for (std::size_t i = 0; i < windows; ++i) {
    double sum = 0;
    for (const auto& core : rates)
      sum += core[i];
    fastest = std::max(fastest, sum);
  }
  return fastest;
}

double fastest_bandwidth(MemoryLevel level, int cores) {
  const auto bytes = working_set(level, caches(), measured_cores(cores));
  double fastest = 0;
  if (bytes > 0)
    for (const auto access : {MemoryAccess::read, MemoryAccess::write, MemoryAccess::update,
                              MemoryAccess::copy, MemoryAccess::triad})
      fastest = std::max(fastest, measure_bandwidth(access, bytes, cores));
  return fastest;
}

} // namespace troupe::cpu
