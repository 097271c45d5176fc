/// Stores convolution weights in the layout of CUDA convolutions: output channel, row, column,
/// input channel (KRSC, which is NHWC for filters), with input channels padded with zeros.
#pragma once

#include "core/device/executable.hpp"

namespace troupe::gpu {

class KrscCodec final : public ParameterCodec {
public:
  /// `shape`: (O, I, KH, KW); `stored_inputs` >= I.
  KrscCodec(const Shape& shape, std::int64_t stored_inputs)
      : shape_{shape}, stored_inputs_{stored_inputs} {}

  std::size_t stored_elements() const {
    return static_cast<std::size_t>(shape_[0] * shape_[2] * shape_[3] * stored_inputs_);
  }
  void encode(std::span<const float> canonical, std::span<float> stored) const override {
    layout().encode(shape_, canonical, stored);
  }
  void decode(std::span<const float> stored, std::span<float> canonical) const override {
    layout().decode(shape_, stored, canonical);
  }
  BlockedLayout layout() const override {
    const auto row = shape_[3] * stored_inputs_;
    return {.strides = {shape_[2] * row, 1, row, stored_inputs_}, .inner = {}};
  }

private:
  Shape shape_;
  std::int64_t stored_inputs_;
};

} // namespace troupe::gpu
