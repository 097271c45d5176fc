/// Reads and writes whole checkpoints.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "core/checkpoint/store.hpp"
#include "core/checkpoint/write_state.hpp"
#include "core/fail.hpp"
#include "core/sha256.hpp"
#include "tests/support/safetensors_file.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace troupe::testing {

inline Status write_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint) {
  return write_state(folder, *state_in_memory(checkpoint));
}

/// Writes a whole checkpoint into the store's folder. The store does not remember it as valid.
inline Result<CheckpointStore::Entry> save(const CheckpointStore& store,
                                           const Checkpoint& checkpoint) {
  CheckpointStore::Entry entry{checkpoint.step, store.path_of(checkpoint.step)};
  TROUPE_TRY(make_folders(store.folder()));
  TROUPE_TRY(write_checkpoint(entry.path, checkpoint));
  return entry;
}

inline Result<Checkpoint> read_checkpoint(const std::filesystem::path& path) {
  TROUPE_TRY(const auto state, open_state(path));
  return read_whole(*state);
}

/// Writes the single-file format that troupe used before checkpoints were folders.
inline Status write_single_file(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  const std::string zeros(64, '0');
  SafetensorsMetadata metadata = {{"checksum", zeros},
                                  {"troupe_checkpoint", "1"},
                                  {"format", "pt"},
                                  {"step", std::to_string(checkpoint.step)},
                                  {"epoch", std::to_string(checkpoint.epoch)}};
  metadata.insert(metadata.end(), checkpoint.metadata.begin(), checkpoint.metadata.end());
  std::vector<SafetensorsView> views;
  for (const auto& tensor : checkpoint.tensors)
    views.push_back({tensor.name, "F32", tensor.shape, std::as_bytes(tensor.values)});
  TROUPE_TRY(write_safetensors(path, metadata, std::move(views)));
  std::ifstream file{path, std::ios::binary};
  std::string bytes{std::istreambuf_iterator<char>{file}, {}};
  Sha256 sha;
  sha.update(bytes);
  bytes.replace(bytes.find(zeros), zeros.size(), sha.hex_digest());
  std::ofstream{path, std::ios::binary} << bytes;
  return {};
}

} // namespace troupe::testing
