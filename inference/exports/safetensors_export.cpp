#include "core/fail.hpp"
#include "inference/exports/exports.hpp"
#include "inference/exports/weights_file.hpp"
#include "inference/model_weights.hpp"

namespace troupe::inference {

namespace {

/// PyTorch's readers expect "format".
SafetensorsMetadata metadata_of(const SavedModel& model) {
  SafetensorsMetadata metadata{{"format", "pt"}, {"model", model.config.model.name}};
  for (auto& [key, value] : training::to_metadata(model.config, model.card))
    metadata.emplace_back(key, value);
  return metadata;
}

} // namespace

Result<std::vector<ExportedFile>> export_safetensors(const SavedModel& model,
                                                     const WeightsExport& options) {
  TROUPE_TRY(const auto weights, weights_of(model));
  TROUPE_TRY(const auto written,
             write_weights(options.output, model, weights, {metadata_of(model), options.dtype}));
  return std::vector{written};
}

} // namespace troupe::inference
