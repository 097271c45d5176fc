/// Which elements dropout drops, for host and CUDA code: a pure function of the sample's key, the
/// op's place in the model and the element's place in the sample. So backward draws the same mask
/// again, and nobody depends on who computes a sample, in what slice, or before or after a resume.
/// The numbers are Philox4x32-10's (core/random.hpp).
#pragma once

#include "core/graph/op.hpp"
#include "core/host_and_device.hpp"
#include "core/random.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe {

/// The tensor of a batch that has them, and the i32 of a key, the lower half first.
inline constexpr const char* dropout_keys_name = "dropout_keys";
inline constexpr std::int64_t dropout_key_words = 2;

/// DropoutAttributes as kernels take them.
struct DropoutRule {
  std::uint32_t place;
  std::uint32_t bound; ///< a word below it drops its element
  float scale;         ///< of the others
};

inline DropoutRule dropout_rule(const DropoutAttributes& a) {
  return {.place = static_cast<std::uint32_t>(a.place),
          .bound = static_cast<std::uint32_t>(static_cast<double>(a.rate) * 0x1p32),
          .scale = 1.0f / (1.0f - a.rate)};
}

TROUPE_HOST_DEVICE inline std::uint64_t dropout_key(const std::int32_t* keys, std::size_t sample) {
  const auto word = [&](std::size_t i) {
    return std::uint64_t{static_cast<std::uint32_t>(keys[2 * sample + i])};
  };
  return word(0) | word(1) << 32;
}

/// Four neighbouring elements of a sample have a block together: element i has word i % 4 of block
/// i / 4. These are the counter's words behind the block's number.
TROUPE_HOST_DEVICE inline PhiloxBlock dropout_counter(const DropoutRule& rule,
                                                      std::uint32_t block) {
  return {block, rule.place, 0, 0x64726f70u /* "drop" */};
}

TROUPE_HOST_DEVICE inline float dropped(float value, std::uint32_t word, const DropoutRule& rule) {
  return word < rule.bound ? 0.0f : value * rule.scale;
}

/// The word of one element.
TROUPE_HOST_DEVICE inline std::uint32_t dropout_word(const DropoutRule& rule, std::uint64_t key,
                                                     std::size_t element) {
  return philox(dropout_counter(rule, static_cast<std::uint32_t>(element / 4)), key)[element % 4];
}

} // namespace troupe
