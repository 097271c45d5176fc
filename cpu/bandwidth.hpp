/// Measures how fast cores move data from and to caches and memory.
#pragma once

#include "cpu/caches.hpp"
#include "cpu/detail/memory_loops.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

enum class MemoryLevel : std::uint8_t { l1, l2, l3, memory };

/// Returns the bytes that each of `cores` cores works on so that they lie in this level and in no
/// nearer one; 0 if the processor has no such level.
std::size_t working_set(MemoryLevel level, const Caches& caches, std::size_t cores);

/// Returns the bytes that `cores` cores (or all that this process may use) read and write per
/// second, each in its own arrays of `bytes` bytes together. Blocks for some 100 ms. 0 if there is
/// not enough memory.
double measure_bandwidth(MemoryAccess access, std::size_t bytes, int cores);

/// Returns the bandwidth of the fastest access; 0 if the processor has no such level.
double fastest_bandwidth(MemoryLevel level, int cores);

} // namespace troupe::cpu

namespace troupe {
template <>
inline constexpr auto choice_words<cpu::MemoryLevel> = word_list("L1", "L2", "L3", "memory");
} // namespace troupe
