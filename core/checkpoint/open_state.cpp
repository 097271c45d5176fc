// Opens a state by its path: files of any program, and checkpoints of any version. Version 1 had
// the whole state in one safetensors file, whose metadata begins with its checksum. Such files can
// be read but are no longer written.
#include "core/checkpoint/manifest.hpp"
#include "core/checkpoint/state_files.hpp"
#include "core/cores.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/sha256.hpp"
#include "core/whole_number.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <utility>

namespace troupe {

namespace {

namespace fs = std::filesystem;

// The checksum comes first in the header, so that its position is known without parsing. It is the
// SHA-256 of the whole file with its own 64 characters taken as zeros ('0').
constexpr std::string_view before_checksum = R"({"__metadata__":{"checksum":")";
constexpr std::size_t checksum_at = 8 + before_checksum.size();
constexpr std::size_t checksum_size = 64;
constexpr const char* single_file_key = "troupe_checkpoint";
constexpr std::string_view single_file_version = "1";
constexpr std::array own_keys = {"checksum", single_file_key, "format", "step", "epoch"};

template <class... Args>
tl::unexpected<Error> corrupt(const SafetensorsReader& reader, fmt::format_string<Args...> what,
                              Args&&... args) {
  return fail(Errc::corrupt, "{}: {}", reader.path().string(),
              fmt::format(what, std::forward<Args>(args)...));
}

Result<std::int64_t> read_number(const SafetensorsReader& reader, const std::string& key) {
  const auto& metadata = reader.metadata();
  const auto found = metadata.find(key);
  const auto value =
      found != metadata.end() ? read_whole_number<std::int64_t>(found->second) : std::nullopt;
  if (value && *value >= 0)
    return *value;
  return corrupt(reader, "metadata '{}' is not a whole number, at least 0", key);
}

/// Whether the file's header marks it as a version 1 checkpoint.
bool is_single_file(const SafetensorsReader& reader) {
  // One of the two is enough, so that a damaged checkpoint is not mistaken for a file of another
  // program.
  return reader.metadata().contains(single_file_key) ||
         reader.header()
             .substr(std::min<std::size_t>(8, reader.header().size()))
             .starts_with(before_checksum);
}

/// Reads step, epoch, metadata and tensor shapes. Errors: corrupt.
Result<CheckpointHeader> read_single_file_header(const SafetensorsReader& reader) {
  const auto& metadata = reader.metadata();
  const auto found = metadata.find(single_file_key);
  if (found == metadata.end() || found->second != single_file_version)
    return corrupt(reader, "it is not a checkpoint of version {}", single_file_version);
  TROUPE_TRY(const auto step, read_number(reader, "step"));
  TROUPE_TRY(const auto epoch, read_number(reader, "epoch"));
  CheckpointHeader header{.step = step, .epoch = epoch, .metadata = metadata, .tensors = {}};
  for (const auto* const key : own_keys)
    header.metadata.erase(key);
  for (const auto& entry : reader.entries()) {
    if (entry.dtype != "F32")
      return corrupt(reader, "tensor '{}' is {}, not F32", echoed(entry.name), entry.dtype);
    header.tensors.push_back({entry.name, entry.shape});
  }
  return header;
}

/// Compares the file with its checksum. Errors: io when it cannot be read; corrupt.
Status verify_single_file(const SafetensorsReader& reader) {
  const auto header = reader.header();
  if (header.size() < checksum_at + checksum_size ||
      header.substr(8, before_checksum.size()) != before_checksum)
    return corrupt(reader, "its header does not begin with a checksum");
  Sha256 sha;
  sha.update(header.substr(0, checksum_at));
  sha.update(std::string(checksum_size, '0'));
  sha.update(header.substr(checksum_at + checksum_size));
  TROUPE_TRY(reader.scan([&](std::span<const std::byte> piece) { sha.update(piece); }));
  if (const auto digest = sha.hex_digest(); header.substr(checksum_at, checksum_size) != digest)
    return corrupt(reader, "the checksum does not match: the file is damaged (SHA-256 {})", digest);
  return {};
}

Status verify_file(const SafetensorsReader& reader, const FileRecord& record) {
  Sha256 sha;
  sha.update(reader.header());
  TROUPE_TRY(reader.scan([&](std::span<const std::byte> piece) { sha.update(piece); }));
  if (const auto digest = sha.hex_digest(); digest != record.sha256)
    return fail(Errc::corrupt, "{}: the checksum does not match: the file is damaged (SHA-256 {})",
                escaped(reader.path().string()), digest);
  return {};
}

/// Opens the files that a manifest lists in its folder. Errors: corrupt when a file is missing or
/// has another size; the message names it.
Result<std::vector<SafetensorsReader>> open_files(const fs::path& folder,
                                                  const Manifest& manifest) {
  std::vector<SafetensorsReader> readers;
  for (const auto& file : manifest.files) {
    const auto path = folder / file.name;
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (error)
      return fail(error == std::errc::no_such_file_or_directory ? Errc::corrupt : Errc::io,
                  "the checkpoint {} lacks its file {}: {}", escaped(folder.string()),
                  escaped(file.name), error.message());
    if (bytes != file.bytes)
      return fail(Errc::corrupt, "{}: it has {} bytes, but according to {} it should have {}",
                  escaped(path.string()), bytes, manifest_name, file.bytes);
    TROUPE_TRY(auto reader, SafetensorsReader::open(path));
    readers.push_back(std::move(reader));
  }
  return readers;
}

/// Compares the content of the files with the checksums of the manifest. Reads all bytes, several
/// files at a time.
Status verify_files(const std::vector<SafetensorsReader>& readers, const Manifest& manifest) {
  std::vector<Status> results(readers.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (auto i = next++; i < readers.size(); i = next++)
      results[i] = verify_file(readers[i], manifest.files[i]);
  };
  const auto threads = std::clamp<int>(static_cast<int>(readers.size()), 1, usable_cores().count());
  TROUPE_TRY(expect_threads(threads - 1));
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i)
      others.emplace_back(work);
    work();
  }
  for (const auto& result : results)
    TROUPE_TRY(result);
  return {};
}

Result<StateSourcePtr> open_folder(const fs::path& folder, Verify verify) {
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

Result<StateSourcePtr> open_file(const fs::path& path, Verify verify) {
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

Result<StateSourcePtr> open_state(const fs::path& path, Verify verify) {
  std::error_code error;
  return fs::is_directory(path, error) ? open_folder(path, verify) : open_file(path, verify);
}

} // namespace troupe
