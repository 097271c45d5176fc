/// A file of an export, written tensor by tensor.
#pragma once

#include "core/atomic_file.hpp"
#include "inference/exports/exports.hpp"

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

} // namespace troupe::inference
