#include "inference/exports/weights_file.hpp"

#include "core/fail.hpp"
#include "inference/exports/values_file.hpp"

#include <utility>

namespace troupe::inference {

namespace {

const char* dtype_name(DType dtype) {
  return dtype == DType::f16 ? "F16" : dtype == DType::bf16 ? "BF16" : "F32";
}

bool is_transposed(const WeightsForm& form, std::string_view name) {
  return form.is_transposed && form.is_transposed(name);
}

std::vector<SafetensorsEntry> entries_of(const ModelWeights& weights, const WeightsForm& form) {
  std::vector<SafetensorsEntry> entries;
  for (const auto& name : weights.names()) {
    auto shape = weights.shape(name);
    if (is_transposed(form, name))
      std::swap(shape.dims.front(), shape.dims.back());
    entries.push_back({.name = name, .dtype = dtype_name(form.dtype), .shape = std::move(shape)});
  }
  return entries;
}

/// `shape`: (rows, columns) of the result.
std::vector<float> transposed(const std::vector<float>& values, const Shape& shape) {
  const auto rows = static_cast<std::size_t>(shape[0]),
             columns = static_cast<std::size_t>(shape[1]);
  std::vector<float> turned(values.size());
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      turned[row * columns + column] = values[column * rows + row];
  return turned;
}

} // namespace

Result<ExportedFile> write_weights(const std::filesystem::path& path, const SavedModel& model,
                                   const ModelWeights& weights, const WeightsForm& form) {
  const auto entries = entries_of(weights, form);
  TROUPE_TRY(const auto header, make_safetensors_header(form.metadata, entries));
  std::uint64_t bytes = header.size();
  for (const auto& entry : entries)
    bytes += static_cast<std::uint64_t>(entry.shape.elements()) * size_of(form.dtype);
  TROUPE_TRY(auto file, ValuesFile::create(path, model, bytes));
  TROUPE_TRY(file.write(header));
  for (const auto& entry : entries) {
    TROUPE_TRY(auto values, weights.read(entry.name));
    if (is_transposed(form, entry.name))
      values = transposed(values, entry.shape);
    TROUPE_TRY(file.write(entry.name, values, form.dtype));
  }
  return file.commit();
}

} // namespace troupe::inference
