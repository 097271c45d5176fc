#include "core/checkpoint/single_file.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/sha256.hpp"
#include "core/whole_number.hpp"

#include <algorithm>
#include <array>

namespace troupe {

namespace {

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

} // namespace

bool is_single_file(const SafetensorsReader& reader) {
  // One of the two is enough, so that a damaged checkpoint is not mistaken for a file of another
  // program.
  return reader.metadata().contains(single_file_key) ||
         reader.header()
             .substr(std::min<std::size_t>(8, reader.header().size()))
             .starts_with(before_checksum);
}

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

} // namespace troupe
