#include "exports.hpp"

#include "../inference/model_weights.hpp"
#include "values_file.hpp"

#include "troupe/core/checkpoint/safetensors.hpp"
#include "troupe/core/fail.hpp"

namespace troupe::engine {

namespace {

const char* dtype_name(DType dtype) {
  return dtype == DType::f16 ? "F16" : dtype == DType::bf16 ? "BF16" : "F32";
}

/// Readers of PyTorch's look for "format".
SafetensorsMetadata metadata_of(const SavedModel& model) {
  SafetensorsMetadata metadata{{"format", "pt"}, {"model", model.config.model.name}};
  for (auto& [key, value] : to_metadata(model.config, model.card))
    metadata.emplace_back(key, value);
  return metadata;
}

/// Without the values: sizes follow from shapes.
std::vector<SafetensorsView> views_of(const ModelWeights& weights, DType dtype) {
  std::vector<SafetensorsView> views;
  for (const auto& name : weights.names())
    views.push_back(
        {.name = name, .dtype = dtype_name(dtype), .shape = weights.shape(name), .bytes = {}});
  sort_for_safetensors(views);
  return views;
}

} // namespace

Result<std::vector<ExportedFile>> export_safetensors(const SavedModel& model,
                                                     const SafetensorsExport& options) {
  TROUPE_TRY(const auto weights, weights_of(model));
  const auto views = views_of(weights, options.dtype);
  TROUPE_TRY(const auto header, make_safetensors_header(metadata_of(model), views));
  std::uint64_t bytes = header.size();
  for (const auto& view : views)
    bytes += static_cast<std::uint64_t>(view.shape.elements()) * size_of(options.dtype);
  TROUPE_TRY(auto file, ValuesFile::create(options.output, model, bytes));
  TROUPE_TRY(file.write(header));
  for (const auto& view : views) {
    TROUPE_TRY(const auto values, weights.read(view.name));
    TROUPE_TRY(file.write(view.name, values, options.dtype));
  }
  TROUPE_TRY(const auto written, file.commit());
  return std::vector{written};
}

} // namespace troupe::engine
