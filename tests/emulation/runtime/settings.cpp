#include "settings.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

namespace emulation {

namespace {

std::optional<std::uint64_t> number(const char* name) {
  const char* const text = std::getenv(name);
  if (!text || !*text)
    return std::nullopt;
  return std::strtoull(text, nullptr, 0);
}

Settings from_environment() {
  Settings read;
  read.devices =
      static_cast<int>(std::min<std::uint64_t>(number("TROUPE_EMULATED_DEVICES").value_or(1), 8));
  read.memory = number("TROUPE_EMULATED_MEMORY").value_or(read.memory);
  read.connections = static_cast<int>(
      std::clamp<std::uint64_t>(number("CUDA_DEVICE_MAX_CONNECTIONS").value_or(8), 1, 32));
  read.seed = number("TROUPE_EMULATED_DELAYS");
  return read;
}

std::uint64_t next_thread() {
  static std::atomic<std::uint64_t> count = 0;
  return count++;
}

} // namespace

const Settings& settings() {
  static const Settings all = from_environment();
  return all;
}

std::uint32_t chance(std::uint32_t below) {
  if (!settings().seed || below == 0)
    return 0;
  thread_local std::mt19937_64 generator{*settings().seed * 1000003 + next_thread()};
  return static_cast<std::uint32_t>(generator() % below);
}

void random_delay() {
  // Few, but longer than what a test enqueues in the meantime.
  if (settings().seed && chance(8) == 0)
    std::this_thread::sleep_for(std::chrono::microseconds{chance(500)});
}

} // namespace emulation
