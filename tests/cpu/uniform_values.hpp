/// Operands of products, with the same values in every run.
#pragma once

#include "core/random.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::cpu::test {

/// Returns values in [-1, 1); each stream has others.
inline std::vector<float> uniform_values(std::uint64_t stream, std::size_t count) {
  CounterRng rng{7, stream};
  std::vector<float> values(count);
  for (auto& value : values)
    value = 2 * rng.uniform() - 1;
  return values;
}

} // namespace troupe::cpu::test
