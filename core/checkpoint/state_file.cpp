#include "core/checkpoint/state_file.hpp"

#include "core/checkpoint/safetensors.hpp"
#include "core/fail.hpp"

#include <utility>
#include <vector>

namespace troupe {

namespace {

SafetensorsMetadata make_metadata(const std::map<std::string, std::string>& given,
                                  std::span<const TensorPart> parts) {
  SafetensorsMetadata metadata = {{"format", "pt"}}; // libraries built on PyTorch require it
  for (const auto& [key, value] : given)
    if (key != "format")
      metadata.emplace_back(key, value);
  for (const auto& part : parts)
    if (!part.is_whole())
      metadata.emplace_back(part_key(part.name), to_string(part));
  return metadata;
}

std::vector<SafetensorsView> make_views(std::span<const TensorPart> parts) {
  std::vector<SafetensorsView> views;
  for (const auto& part : parts)
    views.push_back({part.name,
                     "F32",
                     part.is_whole() ? part.shape : Shape{static_cast<std::int64_t>(part.elements)},
                     {}});
  return views;
}

/// Returns the free bytes for `path`; UINTMAX_MAX if they are unknown.
std::uintmax_t free_bytes(const std::filesystem::path& path) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  return error ? UINTMAX_MAX : space.available;
}

tl::unexpected<Error> no_room(const std::filesystem::path& path, std::uintmax_t needed,
                              std::uintmax_t available, std::string_view reason) {
  return fail(Errc::no_space, "cannot write the checkpoint {}: {} bytes needed, {} bytes free{}",
              path.string(), needed, available,
              reason.empty() ? std::string{} : fmt::format(" ({})", reason));
}

} // namespace

Result<StateFileWriter> StateFileWriter::create(const std::filesystem::path& path,
                                                const std::map<std::string, std::string>& metadata,
                                                std::span<const TensorPart> parts) {
  TROUPE_TRY(const auto text,
             make_safetensors_header(make_metadata(metadata, parts), make_views(parts)));
  std::uint64_t bytes = text.size();
  for (const auto& part : parts)
    bytes += sizeof(float) * part.elements;
  // Checks the free space first, because a full disk also harms the run's other files.
  if (const auto available = free_bytes(path); available < bytes)
    return no_room(path, bytes, available, {});
  TROUPE_TRY(auto file, AtomicFile::create(path));
  StateFileWriter writer{path, std::move(file), bytes};
  TROUPE_TRY(writer.write(std::as_bytes(std::span{text})));
  return writer;
}

Status StateFileWriter::append(std::span<const float> values) {
  return write(std::as_bytes(values));
}

Status StateFileWriter::write(std::span<const std::byte> bytes) {
  sha_.update(bytes);
  return explained(file_.write(bytes));
}

Result<FileRecord> StateFileWriter::commit() {
  if (file_.bytes_written() != bytes_)
    return fail(Errc::internal, "{}: only {} of {} bytes were written", path_.string(),
                file_.bytes_written(), bytes_);
  TROUPE_TRY(explained(file_.commit()));
  return FileRecord{path_.filename().string(), bytes_, sha_.hex_digest()};
}

Status StateFileWriter::explained(Status status) const {
  if (!status && status.error().code == Errc::no_space)
    return no_room(path_, bytes_, free_bytes(path_), status.error().message);
  return status;
}

} // namespace troupe
