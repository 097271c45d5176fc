#include "gpu/detail/random_memory.hpp"

#include "core/float16.hpp"
#include "core/random.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace troupe::gpu {

namespace {

std::vector<std::uint16_t> random_halves(std::size_t count) {
  CounterRng random{1, 0};
  std::vector<std::uint16_t> halves(count);
  for (auto& half : halves)
    half = f16_from_float(random.normal());
  return halves;
}

} // namespace

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

} // namespace troupe::gpu
