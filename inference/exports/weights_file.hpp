/// Writes a saved model's weights to a safetensors file.
#pragma once

#include "core/checkpoint/safetensors.hpp"
#include "inference/exports/exports.hpp"
#include "inference/model_weights.hpp"

namespace troupe::inference {

struct WeightsForm {
  SafetensorsMetadata metadata = {};
  DType dtype = DType::f32;
  /// Whether a matrix is written transposed, by its name; null: none is.
  bool (*is_transposed)(std::string_view name) = nullptr;
};

/// Keeps one tensor's values in memory at a time. Errors: as in exports.hpp.
Result<ExportedFile> write_weights(const std::filesystem::path& path, const SavedModel& model,
                                   const ModelWeights& weights, const WeightsForm& form);

} // namespace troupe::inference
