#include "core/checkpoint/write_state.hpp"

#include "core/checkpoint/safetensors.hpp"
#include "core/fail.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

namespace fs = std::filesystem;

/// Number of values that are read and written at a time.
constexpr std::size_t copied_elements = std::size_t{1} << 20;

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

std::vector<SafetensorsEntry> make_entries(std::span<const TensorPart> parts) {
  std::vector<SafetensorsEntry> entries;
  for (const auto& part : parts)
    entries.push_back(
        {part.name, "F32",
         part.is_whole() ? part.shape : Shape{static_cast<std::int64_t>(part.elements)}});
  return entries;
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

std::vector<TensorPart> whole_parts(std::span<const CheckpointEntry> tensors) {
  std::vector<TensorPart> parts;
  for (const auto& [name, shape] : tensors) {
    const auto elements = static_cast<std::size_t>(shape.elements());
    parts.push_back({.name = name, .shape = shape, .stored = elements, .elements = elements});
  }
  return parts;
}

/// Copies elements [first, end) of a tensor.
template <class Writer>
Status copy_values(const StateSource& state, std::size_t tensor, std::size_t first, std::size_t end,
                   Writer& writer) {
  std::vector<float> piece;
  for (; first < end; first += piece.size()) {
    piece.resize(std::min(copied_elements, end - first));
    TROUPE_TRY(state.read(tensor, first, piece));
    TROUPE_TRY(writer.append(piece));
  }
  return {};
}

Result<std::vector<FileRecord>> write_whole(const fs::path& folder, const StateSource& state) {
  const auto& header = state.header();
  TROUPE_TRY(auto writer, StateWriter::full(folder, header));
  for (std::size_t i = 0; i < header.tensors.size(); ++i)
    TROUPE_TRY(copy_values(state, i, 0,
                           static_cast<std::size_t>(header.tensors[i].shape.elements()), writer));
  return writer.commit();
}

/// Writes one of `count` equal parts of each tensor.
Result<std::vector<FileRecord>> write_shard(const fs::path& folder, const StateSource& state,
                                            std::size_t number, std::size_t count) {
  auto parts = whole_parts(state.header().tensors);
  for (auto& part : parts) {
    part.first = part.stored * number / count;
    part.elements = part.stored * (number + 1) / count - part.first;
  }
  TROUPE_TRY(auto writer,
             StateWriter::part(folder, static_cast<int>(number), static_cast<int>(count), parts));
  for (std::size_t i = 0; i < parts.size(); ++i)
    TROUPE_TRY(copy_values(state, i, parts[i].first, parts[i].first + parts[i].elements, writer));
  return writer.commit();
}

Status write_files(const fs::path& folder, const StateSource& state, int parts) {
  const auto& header = state.header();
  Manifest manifest{
      .step = header.step, .epoch = header.epoch, .metadata = header.metadata, .files = {}};
  if (parts == 0) {
    TROUPE_TRY(manifest.files, write_whole(folder, state));
  }
  for (int number = 0; number < parts; ++number) {
    TROUPE_TRY(const auto files, write_shard(folder, state, static_cast<std::size_t>(number),
                                             static_cast<std::size_t>(parts)));
    manifest.files.push_back(files.front());
  }
  return write_manifest(folder, manifest);
}

} // namespace

Result<StateFileWriter> StateFileWriter::create(const std::filesystem::path& path,
                                                const std::map<std::string, std::string>& metadata,
                                                std::span<const TensorPart> parts) {
  TROUPE_TRY(const auto text,
             make_safetensors_header(make_metadata(metadata, parts), make_entries(parts)));
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

Result<StateWriter> StateWriter::full(const fs::path& folder, const CheckpointHeader& header) {
  const auto parts = whole_parts(header.tensors);
  const auto optimizer = std::ranges::find_if(parts, is_optimizer_tensor, &TensorPart::name);
  const std::span model{parts.begin(), optimizer}, state{optimizer, parts.end()};
  if (!std::ranges::all_of(state, is_optimizer_tensor, &TensorPart::name))
    return fail(Errc::internal, "the optimizer's tensors are not the last ones");
  StateWriter writer;
  TROUPE_TRY(writer.add(folder / model_file, header.metadata, model));
  if (!state.empty())
    TROUPE_TRY(writer.add(folder / optimizer_file, {}, state));
  return writer;
}

Result<StateWriter> StateWriter::part(const fs::path& folder, int rank, int world_size,
                                      std::span<const TensorPart> parts) {
  StateWriter writer;
  TROUPE_TRY(writer.add(folder / fmt::format("rank-{:05}-of-{:05}.safetensors", rank, world_size),
                        {}, parts));
  return writer;
}

Status StateWriter::add(const fs::path& path, const std::map<std::string, std::string>& metadata,
                        std::span<const TensorPart> parts) {
  TROUPE_TRY(auto file, StateFileWriter::create(path, metadata, parts));
  files_.push_back(std::move(file));
  return {};
}

Status StateWriter::append(std::span<const float> values) {
  while (files_[current_].is_full() && current_ + 1 < files_.size())
    ++current_;
  return files_[current_].append(values);
}

Result<std::vector<FileRecord>> StateWriter::commit() {
  std::vector<FileRecord> records;
  for (auto& file : files_) {
    TROUPE_TRY(records.emplace_back(), file.commit());
  }
  return records;
}

Status write_state(const fs::path& folder, const StateSource& state, int parts) {
  auto partial = folder;
  partial += ".partial";
  std::error_code error;
  fs::remove_all(partial, error);
  if (!fs::create_directory(partial, error))
    return fail(Errc::io, "cannot create the folder {}: {}", partial.string(), error.message());
  if (auto written = write_files(partial, state, parts); !written) {
    fs::remove_all(partial, error);
    return written;
  }
  return rename_folder_atomically(partial, folder);
}

Status write_weights(const fs::path& file, const StateSource& state) {
  const auto& tensors = state.header().tensors;
  std::vector<CheckpointEntry> weights;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!is_optimizer_tensor(tensors[i].name)) {
      weights.push_back(tensors[i]);
      numbers.push_back(i);
    }
  const auto parts = whole_parts(weights);
  TROUPE_TRY(auto writer, StateFileWriter::create(file, state.header().metadata, parts));
  for (std::size_t i = 0; i < parts.size(); ++i)
    TROUPE_TRY(copy_values(state, numbers[i], 0, parts[i].elements, writer));
  const auto written = writer.commit();
  return written ? Status{} : failure(written.error());
}

} // namespace troupe
