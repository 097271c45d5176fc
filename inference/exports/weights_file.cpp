#include "inference/exports/weights_file.hpp"

#include "core/device/memory_account.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/float16.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe::inference {

namespace {

namespace fs = std::filesystem;

std::uint64_t free_bytes(const fs::path& path) {
  std::error_code error;
  const auto space = fs::space(fs::absolute(path).parent_path(), error);
  return error ? UINT64_MAX : space.available; // writing will report an error
}

bool is_lost(float value, std::uint16_t narrowed) {
  return std::isfinite(value) && !std::isfinite(float_from_f16(narrowed));
}

/// PyTorch's readers expect "format".
SafetensorsMetadata metadata_of(const SavedModel& model) {
  SafetensorsMetadata metadata{{"format", "pt"}, {"model", model.config.model.name}};
  for (auto& [key, value] : training::to_metadata(model.config, model.card))
    metadata.emplace_back(key, value);
  return metadata;
}

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

Result<ValuesFile> ValuesFile::create(const fs::path& path, const SavedModel& model,
                                      std::uint64_t bytes) {
  std::error_code ignored;
  if (fs::equivalent(path, model.file, ignored))
    return fail(Errc::invalid_input,
                "{} is the file that the model is read from; write to another file",
                escaped(path.string()));
  if (const auto available = free_bytes(path); available < bytes)
    return fail(Errc::no_space, "{}: not enough disk space: {} are needed, {} are free",
                escaped(path.string()), describe_bytes(bytes), describe_bytes(available));
  TROUPE_TRY(auto file, AtomicFile::create(path));
  return ValuesFile{path, std::move(file)};
}

Status ValuesFile::write(const std::string& tensor, std::span<const float> values, DType dtype) {
  if (dtype == DType::f32)
    return file_.write(std::as_bytes(values));
  std::vector<std::uint16_t> narrowed(values.size());
  std::ranges::transform(values, narrowed.begin(),
                         dtype == DType::f16 ? f16_from_float : bf16_from_float);
  for (std::size_t i = 0; dtype == DType::f16 && i < values.size(); ++i)
    if (is_lost(values[i], narrowed[i]))
      return fail(Errc::invalid_input,
                  "{}: {} exceeds fp16's largest value, 65504; export in another precision", tensor,
                  values[i]);
  return file_.write(std::as_bytes(std::span{narrowed}));
}

Result<ExportedFile> ValuesFile::commit() {
  TROUPE_TRY(file_.commit());
  return ExportedFile{path_, file_.bytes_written()};
}

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

Result<std::vector<ExportedFile>> export_safetensors(const SavedModel& model,
                                                     const WeightsExport& options) {
  TROUPE_TRY(const auto weights, weights_of(model));
  TROUPE_TRY(const auto written,
             write_weights(options.output, model, weights, {metadata_of(model), options.dtype}));
  return std::vector{written};
}

} // namespace troupe::inference
