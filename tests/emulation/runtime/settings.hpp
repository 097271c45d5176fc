/// The emulated machine's settings, from environment variables; read once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace emulation {

struct Settings {
  int devices = 1; ///< devices that this process sees
  /// The machine's number of each visible device: CUDA_VISIBLE_DEVICES selects from
  /// TROUPE_EMULATED_DEVICES devices (1; at most 8). Processes that see one number share that GPU's
  /// name, but not its memory.
  std::vector<int> visible;
  std::size_t memory = std::size_t{8} << 30; ///< TROUPE_EMULATED_MEMORY, in bytes per device
  int connections = 8; ///< CUDA_DEVICE_MAX_CONNECTIONS: hardware queues per device
  /// TROUPE_EMULATED_DELAYS, a seed: delays operations at random, and runs blocks, and independent
  /// nodes of a graph, in random order.
  std::optional<std::uint64_t> seed;
  /// Whether communicators get an error when the process of a rank is killed
  /// (TROUPE_EMULATED_LOSSES other than unseen).
  bool losses_seen = true;
  /// Whether a kernel may be loaded while a stream waits for the host: the load then waits, too
  /// (TROUPE_EMULATED_LATE_LOADS=wait).
  bool late_loads = false;
};

const Settings& settings();

/// Returns random numbers of the calling thread, from the seed; always 0 without a seed.
std::uint32_t chance(std::uint32_t below);
/// Sleeps for a short time now and then when a seed is set.
void random_delay();

} // namespace emulation
