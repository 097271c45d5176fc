/// Storage of a graph's parameters on the device, and the types in which nodes read them.
#pragma once

#include "core/device/executable.hpp"
#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <span>
#include <vector>

namespace troupe::gpu {

/// Lays out convolution weights with KrscCodec, padded to the channels of the images that they
/// read.
StorageLayout store_parameters(const Graph& graph);

/// Returns for each unit the type of its parameters' copy: the type other than f32 in which nodes
/// read them, or f32 for no copy. Errors: unsupported if nodes read a unit's parameters in two
/// types besides f32.
Result<std::vector<DType>> copy_types(const Graph& graph);

/// Returns the type of the copies if every unit with parameters has a copy and all have the same
/// type; else f32. Such copies are contiguous and in the order of the parameters.
DType common_copy_type(std::span<const DType> types, std::span<const std::size_t> unit_elements);

/// Stores convolution weights in the layout of CUDA convolutions: output channel, row, column,
/// input channel (KRSC, which is NHWC for filters), with input channels padded with zeros.
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
