#include "gpu/krsc_codec.hpp"

#include <algorithm>

namespace troupe::gpu {

KrscCodec::KrscCodec(const Shape& shape, std::int64_t stored_inputs)
    : outputs_{static_cast<std::size_t>(shape[0])}, inputs_{static_cast<std::size_t>(shape[1])},
      window_{static_cast<std::size_t>(shape[2] * shape[3])}, columns_{static_cast<std::size_t>(
                                                                  shape[3])},
      stored_inputs_{static_cast<std::size_t>(stored_inputs)} {}

void KrscCodec::encode(std::span<const float> canonical, std::span<float> stored) const {
  std::ranges::fill(stored, 0.0f);
  for (std::size_t output = 0; output < outputs_; ++output)
    for (std::size_t position = 0; position < window_; ++position)
      for (std::size_t input = 0; input < inputs_; ++input)
        stored[stored_at(output, position, input)] =
            canonical[canonical_at(output, position, input)];
}

void KrscCodec::decode(std::span<const float> stored, std::span<float> canonical) const {
  for (std::size_t output = 0; output < outputs_; ++output)
    for (std::size_t position = 0; position < window_; ++position)
      for (std::size_t input = 0; input < inputs_; ++input)
        canonical[canonical_at(output, position, input)] =
            stored[stored_at(output, position, input)];
}

BlockedLayout KrscCodec::layout() const {
  const auto row = columns_ * stored_inputs_;
  BlockedLayout layout;
  for (const auto stride : {window_ * stored_inputs_, std::size_t{1}, row, stored_inputs_})
    layout.strides.push_back(static_cast<std::int64_t>(stride));
  return layout;
}

} // namespace troupe::gpu
