/// Decides which elements dropout drops, for host and CUDA code: a pure function of the sample's
/// key, the op's index in the model and the element's index in the sample. So backward draws the
/// same mask again, and the mask does not depend on which rank computes the sample, in which slice,
/// or on a resume. The numbers are Philox4x32-10's (core/random.hpp).
#pragma once

#include "core/graph/op.hpp"
#include "core/host_and_device.hpp"
#include "core/random.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe {

/// Name of the batch tensor with the keys, and number of i32 words of a key, of which the lower
/// half comes first.
inline constexpr const char* dropout_keys_name = "dropout_keys";
inline constexpr std::int64_t dropout_key_words = 2;

/// DropoutAttributes in the form that kernels take.
struct DropoutRule {
  std::uint32_t place;
  std::uint32_t bound; ///< an element is dropped if its random word is below this
  float scale;         ///< factor for the other elements
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

/// Four neighbouring elements of a sample share a Philox block: element i uses word i % 4 of block
/// i / 4. Returns the counter: the block's number followed by constants.
TROUPE_HOST_DEVICE inline PhiloxBlock dropout_counter(const DropoutRule& rule,
                                                      std::uint32_t block) {
  return {block, rule.place, 0, 0x64726f70u /* "drop" */};
}

TROUPE_HOST_DEVICE inline float dropped(float value, std::uint32_t word, const DropoutRule& rule) {
  return word < rule.bound ? 0.0f : value * rule.scale;
}

/// Returns the random word of one element.
TROUPE_HOST_DEVICE inline std::uint32_t dropout_word(const DropoutRule& rule, std::uint64_t key,
                                                     std::size_t element) {
  return philox(dropout_counter(rule, static_cast<std::uint32_t>(element / 4)), key)[element % 4];
}

} // namespace troupe
