/// Loops that move data as fast as a core can.
#pragma once

#include "core/choice.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

/// The work of a loop on each element.
enum class MemoryAccess : std::uint8_t {
  read,
  write,  ///< plain stores: beyond the caches, the processor reads each line first
  update, ///< reads and writes it in place, as an optimizer does
  copy,
  triad ///< reads two and writes one, as an addition does
};

inline constexpr std::size_t loop_alignment = 64; ///< bytes
/// Bytes of each array are a multiple of this.
inline constexpr std::size_t loop_granularity = 512;

/// Arrays of `bytes` bytes each, aligned.
struct LoopArrays {
  float *a, *b, *c;
  std::size_t bytes;
};

/// Returns the number of arrays that an access uses.
constexpr std::size_t arrays_of(MemoryAccess access) {
  return access == MemoryAccess::triad ? 3 : access == MemoryAccess::copy ? 2 : 1;
}

/// Returns the bytes that a loop reads and writes.
constexpr std::size_t bytes_moved(MemoryAccess access, std::size_t bytes_of_array) {
  const std::size_t times = access == MemoryAccess::update ? 2 : arrays_of(access);
  return times * bytes_of_array;
}

/// Goes through all arrays of the access once, with the widest vectors that this processor has,
/// within the limit (isa_limit).
void run_loop(MemoryAccess access, const LoopArrays& arrays);

} // namespace troupe::cpu

namespace troupe {
template <>
inline constexpr auto choice_words<cpu::MemoryAccess> = word_list("read", "write", "update", "copy",
                                                                  "triad");
} // namespace troupe
