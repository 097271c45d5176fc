#include "inference/exports/values_file.hpp"

#include "core/device/memory_account.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/float16.hpp"

#include <algorithm>
#include <cmath>

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

} // namespace troupe::inference
