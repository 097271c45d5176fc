/// What the emulated machine is, by environment variables; read once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace emulation {

struct Settings {
  int devices = 1; ///< that this process sees
  /// The machine's number of each of them: CUDA_VISIBLE_DEVICES of TROUPE_EMULATED_DEVICES (1, 8 at
  /// most). Processes that see one number share that GPU's name, not its memory.
  std::vector<int> visible;
  std::size_t memory = std::size_t{8} << 30; ///< TROUPE_EMULATED_MEMORY, bytes of each
  int connections = 8; ///< CUDA_DEVICE_MAX_CONNECTIONS: hardware queues of each
  /// TROUPE_EMULATED_DELAYS, a seed: operations are held up at random, blocks run in random order,
  /// and so do nodes of a graph that do not depend on each other.
  std::optional<std::uint64_t> seed;
  /// Whether communicators get an error when the process of a rank is killed
  /// (TROUPE_EMULATED_LOSSES other than unseen).
  bool losses_seen = true;
};

const Settings& settings();

/// Random numbers of the calling thread, by the seed; always 0 without one.
std::uint32_t chance(std::uint32_t below);
/// Sleeps for a while now and then, where there is a seed.
void random_delay();

} // namespace emulation
