/// A model's input and target in a batch.
#pragma once

#include "core/config/forward.hpp"
#include "core/graph/tensor.hpp"

#include <cstdint>
#include <string>

namespace troupe::nn {

enum class TargetKind : std::uint8_t {
  labels, ///< i32 (N): class of each sample; for tokens (N, T): the next token
  values, ///< f32 (N, K): targets for the model's K outputs (model.num_classes)
};

/// The default is CIFAR-10's images.
struct InputSpec {
  std::string name = "images";
  /// Shape of one sample: {H, W, C} for an image, {F} for a table's row, {T} for tokens.
  Shape sample = {32, 32, 3};
  std::string target = "labels";
  TargetKind target_kind = TargetKind::labels;
  /// If it is not 0, samples are i32 (T), with tokens below it and a label for each.
  std::int64_t vocabulary = 0;

  std::int64_t labels_of_sample() const { return vocabulary > 0 ? sample.elements() : 1; }
};

/// Returns the input of square images and their labels.
InputSpec image_input(std::int64_t size, std::int64_t channels = 3);

/// Returns the input that the data of a config provides. All code in nn/ gets properties of the
/// data set from here.
InputSpec input_spec(const Config& config);

} // namespace troupe::nn
