// Opens a state by its path: files of any program, checkpoints of any version.
#include "core/checkpoint/single_file.hpp"
#include "core/checkpoint/state_files.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"

#include <utility>

namespace troupe {

namespace {

Result<StateSourcePtr> open_folder(const std::filesystem::path& folder, Verify verify) {
  TROUPE_TRY(auto manifest, read_manifest(folder));
  TROUPE_TRY(auto readers, open_files(folder, manifest));
  if (verify == Verify::content)
    TROUPE_TRY(verify_files(readers, manifest));
  return state_in_files({.step = manifest.step,
                         .epoch = manifest.epoch,
                         .metadata = std::move(manifest.metadata),
                         .tensors = {}},
                        std::move(readers));
}

Result<StateSourcePtr> open_file(const std::filesystem::path& path, Verify verify) {
  TROUPE_TRY(auto reader, SafetensorsReader::open(path));
  CheckpointHeader header{.metadata = reader.metadata(), .tensors = {}};
  if (is_single_file(reader)) {
    TROUPE_TRY(header, read_single_file_header(reader));
    if (verify == Verify::content)
      TROUPE_TRY(verify_single_file(reader));
  }
  std::vector<SafetensorsReader> readers;
  readers.push_back(std::move(reader));
  return state_in_files(std::move(header), std::move(readers));
}

} // namespace

Result<StateSourcePtr> open_state(const std::filesystem::path& path, Verify verify) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? open_folder(path, verify)
                                                    : open_file(path, verify);
}

} // namespace troupe
