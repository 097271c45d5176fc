#include "tests/emulation/runtime/loading.hpp"

#include "tests/emulation/runtime/error.hpp"
#include "tests/emulation/runtime/queue.hpp"
#include "tests/emulation/runtime/settings.hpp"
#include "tests/emulation/runtime/stream.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

namespace emulation {

namespace {

struct Loaded {
  std::shared_mutex loading; ///< held exclusively while loading
  std::mutex mutex;
  std::set<const void*> codes;
  std::multimap<std::uint32_t*, std::uint32_t> host_waits; ///< of streams: words and values

  bool waits_for_host() {
    const std::lock_guard lock{mutex};
    return std::ranges::any_of(
        host_waits, [](const auto& wait) { return !is_written(wait.first, wait.second); });
  }
};

std::atomic<std::uint64_t> launches = 0, loads = 0;

Loaded& loaded_on(int device) {
  static auto* const all = new std::array<Loaded, 8>; // lives as long as the devices' threads
  return (*all)[static_cast<std::size_t>(device)];
}

} // namespace

void note_launch() {
  ++launches;
}

void load(int device, const void* code, const char* name) {
  note_launch();
  auto& loaded = loaded_on(device);
  {
    const std::lock_guard lock{loaded.mutex};
    if (!loaded.codes.insert(code).second)
      return;
  }
  ++loads;
  if (capturing())
    return;
  if (!settings().late_loads && loaded.waits_for_host())
    fail_forever(cudaErrorLaunchFailure,
                 std::string{"a kernel is loaded while a stream waits for the host: "} + name);
  else
    call_alone(device, [] {});
}

void begin_host_wait(int device, std::uint32_t* word, std::uint32_t value) {
  auto& loaded = loaded_on(device);
  const std::lock_guard lock{loaded.mutex};
  loaded.host_waits.emplace(word, value);
}

void end_host_wait(int device, std::uint32_t* word) {
  auto& loaded = loaded_on(device);
  const std::lock_guard lock{loaded.mutex};
  loaded.host_waits.erase(loaded.host_waits.find(word));
}

bool is_written(std::uint32_t* word, std::uint32_t value) {
  return static_cast<std::int32_t>(std::atomic_ref{*word}.load() - value) >= 0;
}

void call_alone(int device, const std::function<void()>& call) {
  const std::lock_guard lock{loaded_on(device).loading};
  drain_device(device);
  call();
}

void call_alone_on_all(const std::function<void()>& call) {
  std::vector<std::unique_lock<std::shared_mutex>> locks;
  for (int device = 0; device < settings().devices; ++device)
    locks.emplace_back(loaded_on(device).loading);
  for (int device = 0; device < settings().devices; ++device)
    drain_device(device);
  call();
}

void wait_for_loading(int device) {
  const std::shared_lock lock{loaded_on(device).loading};
}

} // namespace emulation

extern "C" std::uint64_t troupe_emulated_launches() {
  return emulation::launches;
}

extern "C" std::uint64_t troupe_emulated_loads() {
  return emulation::loads;
}
