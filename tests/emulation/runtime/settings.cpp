#include "tests/emulation/runtime/settings.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

namespace emulation {

namespace {

std::optional<std::uint64_t> number(const char* name) {
  const char* const text = std::getenv(name);
  if (!text || !*text)
    return std::nullopt;
  return std::strtoull(text, nullptr, 0);
}

/// Reads the list as CUDA does: up to the first device that does not exist or is repeated.
std::vector<int> visible_of(int devices, const char* list) {
  std::vector<int> visible;
  std::istringstream in{list};
  for (std::string item; std::getline(in, item, ',');) {
    char* end = nullptr;
    const auto device = static_cast<int>(std::strtol(item.c_str(), &end, 10));
    if (end == item.c_str() || *end != '\0' || device < 0 || device >= devices ||
        std::ranges::count(visible, device) > 0)
      break;
    visible.push_back(device);
  }
  return visible;
}

std::vector<int> visible_devices() {
  const auto devices =
      static_cast<int>(std::min<std::uint64_t>(number("TROUPE_EMULATED_DEVICES").value_or(1), 8));
  if (const char* const list = std::getenv("CUDA_VISIBLE_DEVICES"))
    return visible_of(devices, list);
  std::vector<int> all(static_cast<std::size_t>(devices));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Settings from_environment() {
  Settings read;
  read.visible = visible_devices();
  read.devices = static_cast<int>(read.visible.size());
  read.memory = number("TROUPE_EMULATED_MEMORY").value_or(read.memory);
  read.connections = static_cast<int>(
      std::clamp<std::uint64_t>(number("CUDA_DEVICE_MAX_CONNECTIONS").value_or(8), 1, 32));
  read.seed = number("TROUPE_EMULATED_DELAYS");
  const char* const losses = std::getenv("TROUPE_EMULATED_LOSSES");
  read.losses_seen = !losses || std::string_view{losses} != "unseen";
  const char* const loads = std::getenv("TROUPE_EMULATED_LATE_LOADS");
  read.late_loads = loads && std::string_view{loads} == "wait";
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
  // Rare, but longer than a test takes to enqueue its work.
  if (settings().seed && chance(8) == 0)
    std::this_thread::sleep_for(std::chrono::microseconds{chance(500)});
}

} // namespace emulation
