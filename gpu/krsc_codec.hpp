/// Stores convolution weights in the layout of CUDA convolutions: output channel, row, column,
/// input channel (KRSC, which is NHWC for filters), with input channels padded with zeros.
#pragma once

#include "core/device/executable.hpp"

namespace troupe::gpu {

class KrscCodec final : public ParameterCodec {
public:
  /// `shape`: (O, I, KH, KW); `stored_inputs` >= I.
  KrscCodec(const Shape& shape, std::int64_t stored_inputs);

  std::size_t stored_elements() const { return outputs_ * window_ * stored_inputs_; }
  void encode(std::span<const float> canonical, std::span<float> stored) const override;
  void decode(std::span<const float> stored, std::span<float> canonical) const override;
  BlockedLayout layout() const override;

private:
  std::size_t canonical_at(std::size_t output, std::size_t position, std::size_t input) const {
    return (output * inputs_ + input) * window_ + position;
  }
  std::size_t stored_at(std::size_t output, std::size_t position, std::size_t input) const {
    return (output * window_ + position) * stored_inputs_ + input;
  }

  std::size_t outputs_, inputs_, window_, columns_, stored_inputs_;
};

} // namespace troupe::gpu
