#include "data/detail/permutation.hpp"

#include "core/random.hpp"

#include <cmath>

namespace troupe::data {

Permutation::Permutation(std::int64_t size, std::uint64_t key)
    : size_{static_cast<std::uint64_t>(size)}, side_{static_cast<std::uint64_t>(
                                                   std::sqrt(static_cast<double>(size)))} {
  while (side_ * side_ < size_) // the root was rounded down
    ++side_;
  CounterRng rng{key, 0};
  for (auto& round_key : keys_) {
    const std::uint64_t high = rng.next();
    round_key = high << 32 | rng.next();
  }
}

} // namespace troupe::data
