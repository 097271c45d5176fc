#include "write_state.hpp"

#include "../atomic_file.hpp"
#include "../fail.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

namespace fs = std::filesystem;

/// Values that are read and written at a time, where a tensor has more.
constexpr std::size_t piece_elements = std::size_t{1} << 20;

std::vector<TensorPart> whole_parts(std::span<const CheckpointEntry> tensors) {
  std::vector<TensorPart> parts;
  for (const auto& [name, shape] : tensors) {
    const auto elements = static_cast<std::size_t>(shape.elements());
    parts.push_back({.name = name, .shape = shape, .stored = elements, .elements = elements});
  }
  return parts;
}

Status copy_values(const StateSource& state, StateWriter& writer) {
  std::vector<float> piece;
  const auto& tensors = state.header().tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto elements = static_cast<std::size_t>(tensors[i].shape.elements());
    for (std::size_t first = 0; first < elements; first += piece.size()) {
      piece.resize(std::min(piece_elements, elements - first));
      TROUPE_TRY(state.read(i, first, piece));
      TROUPE_TRY(writer.append(piece));
    }
  }
  return {};
}

Status write_files(const fs::path& folder, const StateSource& state) {
  const auto& header = state.header();
  TROUPE_TRY(auto writer, StateWriter::full(folder, header));
  TROUPE_TRY(copy_values(state, writer));
  TROUPE_TRY(auto files, writer.commit());
  return write_manifest(folder, {header.step, header.epoch, header.metadata, std::move(files)});
}

} // namespace

Result<StateWriter> StateWriter::full(const fs::path& folder, const CheckpointHeader& header) {
  const auto parts = whole_parts(header.tensors);
  const auto optimizer = std::ranges::find_if(parts, is_optimizer_tensor, &TensorPart::name);
  const std::span model{parts.begin(), optimizer}, state{optimizer, parts.end()};
  if (!std::ranges::all_of(state, is_optimizer_tensor, &TensorPart::name))
    return fail(Errc::internal, "the optimizer's tensors do not stand last");
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
  std::size_t elements = 0;
  for (const auto& part : parts)
    elements += part.elements;
  files_.push_back({std::move(file), elements});
  return {};
}

Status StateWriter::append(std::span<const float> values) {
  while (files_[current_].left == 0 && current_ + 1 < files_.size())
    ++current_;
  auto& file = files_[current_];
  file.left -= std::min(file.left, values.size());
  return file.writer.append(values);
}

Result<std::vector<FileRecord>> StateWriter::commit() {
  std::vector<FileRecord> records;
  for (auto& file : files_) {
    TROUPE_TRY(records.emplace_back(), file.writer.commit());
  }
  return records;
}

Status write_state(const fs::path& folder, const StateSource& state) {
  auto partial = folder;
  partial += ".partial";
  std::error_code error;
  fs::remove_all(partial, error);
  if (!fs::create_directory(partial, error))
    return fail(Errc::io, "cannot make the folder {}: {}", partial.string(), error.message());
  if (const auto written = write_files(partial, state); !written) {
    fs::remove_all(partial, error);
    return written;
  }
  return rename_folder_atomically(partial, folder);
}

} // namespace troupe
