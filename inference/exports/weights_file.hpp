/// A safetensors file of a saved model's weights.
#pragma once

#include "core/checkpoint/safetensors.hpp"
#include "inference/exports/exports.hpp"
#include "inference/model_weights.hpp"

namespace troupe::inference {

struct WeightsForm {
  SafetensorsMetadata metadata = {};
  DType dtype = DType::f32;
  /// Matrices that are written transposed, by their names; null: none.
  bool (*is_transposed)(std::string_view name) = nullptr;
};

/// Values are in memory a tensor at a time. Errors: as exports.hpp says.
Result<ExportedFile> write_weights(const std::filesystem::path& path, const SavedModel& model,
                                   const ModelWeights& weights, const WeightsForm& form);

} // namespace troupe::inference
