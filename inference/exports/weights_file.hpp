/// Files of an export, written tensor by tensor.
#pragma once

#include "core/atomic_file.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "inference/exports/exports.hpp"
#include "inference/model_weights.hpp"

#include <span>
#include <string_view>

namespace troupe::inference {

class ValuesFile {
public:
  /// Errors: invalid_input if `path` is the file that the model is read from; no_space if fewer
  /// than `bytes` are free; io.
  static Result<ValuesFile> create(const std::filesystem::path& path, const SavedModel& model,
                                   std::uint64_t bytes);

  Status write(std::string_view bytes) { return file_.write(bytes); }
  /// Writes values in `dtype`, little-endian. Errors: invalid_input for a value outside its range,
  /// naming the tensor.
  Status write(const std::string& tensor, std::span<const float> values, DType dtype);
  Result<ExportedFile> commit();

private:
  ValuesFile(std::filesystem::path path, AtomicFile file)
      : path_{std::move(path)}, file_{std::move(file)} {}

  std::filesystem::path path_;
  AtomicFile file_;
};

struct WeightsForm {
  SafetensorsMetadata metadata = {};
  DType dtype = DType::f32;
  /// Whether a matrix is written transposed, by its name; null: none is.
  bool (*is_transposed)(std::string_view name) = nullptr;
};

/// Writes a model's weights to a safetensors file. Keeps one tensor's values in memory at a time.
/// Errors: as in exports.hpp.
Result<ExportedFile> write_weights(const std::filesystem::path& path, const SavedModel& model,
                                   const ModelWeights& weights, const WeightsForm& form);

} // namespace troupe::inference
