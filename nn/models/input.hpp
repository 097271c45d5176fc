/// What a batch gives to a model: the graph's input and its target.
#pragma once

#include "core/config/forward.hpp"
#include "core/graph/tensor.hpp"

#include <cstdint>
#include <string>

namespace troupe::nn {

enum class TargetKind : std::uint8_t {
  labels, ///< i32 (N): the class of each sample; of tokens (N, T): the one behind each
  values, ///< f32 (N, K): what the model's K outputs should be (model.num_classes)
};

/// By default images of CIFAR-10.
struct InputSpec {
  std::string name = "images";
  /// Of one sample: {H, W, C} of an image, {F} of a table's row, {T} of tokens.
  Shape sample = {32, 32, 3};
  std::string target = "labels";
  TargetKind target_kind = TargetKind::labels;
  /// Where it is not 0, samples are i32 (T): tokens below it, and each has a label.
  std::int64_t vocabulary = 0;

  std::int64_t labels_of_sample() const { return vocabulary > 0 ? sample.elements() : 1; }
};

/// The input of square images, and their labels.
InputSpec image_input(std::int64_t size, std::int64_t channels = 3);

/// What the data of a config gives: all of nn/ that asks what a data set is like asks here.
InputSpec input_spec(const Config& config);

} // namespace troupe::nn
