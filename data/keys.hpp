/// Keys of the random numbers that this folder draws. Each draw and epoch has its own key, so that
/// no two share numbers.
#pragma once

#include "core/random.hpp"

#include <cstdint>

namespace troupe::data {

enum class Draw : std::uint32_t {
  shuffle = 1,
  augment = 2,
  synthetic_class = 3,
  synthetic_noise = 4,
  resized_crop = 5,
  dropout = 6
};

TROUPE_HOST_DEVICE inline std::uint64_t epoch_key(std::uint64_t seed, Draw draw,
                                                  std::int64_t epoch) {
  const auto number = static_cast<std::uint64_t>(epoch);
  const PhiloxBlock block =
      philox({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32),
              static_cast<std::uint32_t>(draw), 0x64617461u /* "data" */},
             seed);
  return block[0] | std::uint64_t{block[1]} << 32;
}

} // namespace troupe::data
