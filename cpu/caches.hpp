/// Sizes of the processor's data caches.
#pragma once

#include <cstddef>
#include <filesystem>

namespace troupe::cpu {

struct Cache {
  std::size_t bytes = 0; ///< 0: there is none, or its size is unknown
  int threads = 1;       ///< hardware threads that share it

  std::size_t bytes_per_thread() const { return bytes / static_cast<std::size_t>(threads); }
};

struct Caches {
  Cache l1, l2, l3;
};

/// Returns the bytes of all last caches that `threads` neighbouring hardware threads have: of the
/// third level, or of the second if there is no third.
std::size_t last_cache_bytes(const Caches& caches, int threads);

/// Reads the sizes from the system's folder of one processor's caches. If it lists no first or
/// second level, assumes 32 KiB and 512 KiB for one thread: the smallest of the servers in use.
Caches read_caches(const std::filesystem::path& folder);

/// Returns the caches of the first processor. Reads them once.
const Caches& caches();

} // namespace troupe::cpu
