#include "checkpoint.hpp"

#include "../fail.hpp"
#include "../printable.hpp"
#include "safetensors.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace troupe {

namespace {

// The checksum stands first in the header, so that its place is known without parsing.
constexpr std::string_view before_checksum = R"({"__metadata__":{"checksum":")";
constexpr std::size_t checksum_at = 8 + before_checksum.size();
constexpr std::size_t checksum_size = 64;
constexpr std::string_view format_version = "1";
constexpr std::array<std::string_view, 5> own_keys = {"checksum", "troupe_checkpoint", "format",
                                                      "step", "epoch"};

SafetensorsMetadata make_metadata(const CheckpointHeader& header) {
  SafetensorsMetadata metadata = {
      {"checksum", std::string(checksum_size, '0')},
      {"troupe_checkpoint", std::string{format_version}},
      {"format", "pt"}, // libraries built on PyTorch load only what says so
      {"step", std::to_string(header.step)},
      {"epoch", std::to_string(header.epoch)},
  };
  for (const auto& [key, value] : header.metadata)
    if (std::ranges::find(own_keys, key) == own_keys.end())
      metadata.emplace_back(key, value);
  return metadata;
}

std::vector<SafetensorsView> make_views(const CheckpointHeader& header) {
  std::vector<SafetensorsView> views;
  views.reserve(header.tensors.size());
  for (const auto& [name, shape] : header.tensors)
    views.push_back({name, "F32", shape, {}});
  return views;
}

/// Bytes that can still be written where `path` will be; huge when nobody can say.
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

template <class... Args>
tl::unexpected<Error> corrupt(const SafetensorsReader& reader, fmt::format_string<Args...> what,
                              Args&&... args) {
  return fail(Errc::corrupt, "{}: {}", reader.path().string(),
              fmt::format(what, std::forward<Args>(args)...));
}

Result<std::int64_t> read_number(const SafetensorsReader& reader, const std::string& key) {
  const auto& metadata = reader.metadata();
  const auto found = metadata.find(key);
  std::int64_t value = 0;
  if (found != metadata.end()) {
    const char* const end = found->second.data() + found->second.size();
    if (const auto parsed = std::from_chars(found->second.data(), end, value);
        parsed.ec == std::errc{} && parsed.ptr == end && value >= 0)
      return value;
  }
  return corrupt(reader, "metadata '{}' is not a whole number from 0 on", key);
}

void point_into(const SafetensorsReader& reader, Checkpoint& checkpoint) {
  const auto* const values = reinterpret_cast<const float*>(checkpoint.storage.get());
  for (const auto& entry : reader.entries())
    checkpoint.tensors.push_back(
        {entry.name,
         entry.shape,
         {values + entry.begin / sizeof(float), (entry.end - entry.begin) / sizeof(float)}});
}

/// `read` gives all data to an observer.
template <class Read>
Status verify(const SafetensorsReader& reader, const Read& read) {
  const auto header = reader.header();
  if (header.size() < checksum_at + checksum_size ||
      header.substr(8, before_checksum.size()) != before_checksum)
    return corrupt(reader, "its header does not begin with a checksum");
  Sha256 sha;
  sha.update(header.substr(0, checksum_at));
  sha.update(std::string(checksum_size, '0'));
  sha.update(header.substr(checksum_at + checksum_size));
  TROUPE_TRY(read([&](std::span<const std::byte> piece) { sha.update(piece); }));
  if (const auto digest = sha.hex_digest(); header.substr(checksum_at, checksum_size) != digest)
    return corrupt(reader, "the checksum does not match: the file is damaged (SHA-256 {})", digest);
  return {};
}

/// Reads the data while it is hashed.
Status read_and_verify(const SafetensorsReader& reader, Checkpoint& checkpoint) {
  return verify(reader, [&](const SafetensorsReader::Observer& observe) -> Status {
    TROUPE_TRY(checkpoint.storage, reader.read_data(observe));
    return {};
  });
}

} // namespace

CheckpointHeader header_of(const Checkpoint& checkpoint) {
  CheckpointHeader header{.step = checkpoint.step,
                          .epoch = checkpoint.epoch,
                          .metadata = checkpoint.metadata,
                          .tensors = {}};
  for (const auto& tensor : checkpoint.tensors)
    header.tensors.push_back({tensor.name, tensor.shape});
  return header;
}

const CheckpointTensor* Checkpoint::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &CheckpointTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

std::string optimizer_tensor_name(std::string_view state, std::string_view name) {
  return fmt::format("optimizer.{}.{}", state, name);
}

Result<CheckpointWriter> CheckpointWriter::create(const std::filesystem::path& path,
                                                  const CheckpointHeader& header) {
  TROUPE_TRY(const auto text, make_safetensors_header(make_metadata(header), make_views(header)));
  std::uint64_t bytes = text.size();
  for (const auto& tensor : header.tensors)
    bytes += sizeof(float) * static_cast<std::uint64_t>(tensor.shape.elements());
  // The room is looked up first: a disk that is filled to its last byte harms the run's other files
  // too.
  if (const auto available = free_bytes(path); available < bytes)
    return no_room(path, bytes, available, {});
  TROUPE_TRY(auto file, AtomicFile::create(path));
  CheckpointWriter writer{path, std::move(file), bytes};
  TROUPE_TRY(writer.write(std::as_bytes(std::span{text})));
  return writer;
}

Status CheckpointWriter::append(std::span<const float> values) {
  return write(std::as_bytes(values));
}

Status CheckpointWriter::write(std::span<const std::byte> bytes) {
  sha_.update(bytes);
  return explained(file_.write(bytes));
}

Status CheckpointWriter::commit() {
  if (file_.bytes_written() != bytes_)
    return fail(Errc::internal, "{}: {} of {} bytes were given", path_.string(),
                file_.bytes_written(), bytes_);
  // The checksum stands before the data that it covers, but is known last.
  TROUPE_TRY(file_.overwrite(checksum_at, sha_.hex_digest()));
  return explained(file_.commit());
}

Status CheckpointWriter::explained(Status status) const {
  if (!status && status.error().code == Errc::no_space)
    return no_room(path_, bytes_, free_bytes(path_), status.error().message);
  return status;
}

Status write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  TROUPE_TRY(auto writer, CheckpointWriter::create(path, header_of(checkpoint)));
  for (const auto& tensor : checkpoint.tensors)
    TROUPE_TRY(writer.append(tensor.values));
  return writer.commit();
}

Result<Checkpoint> read_checkpoint(const std::filesystem::path& path) {
  TROUPE_TRY(const auto reader, SafetensorsReader::open(path));
  TROUPE_TRY(auto header, read_checkpoint_header(reader));
  Checkpoint checkpoint{.step = header.step,
                        .epoch = header.epoch,
                        .metadata = std::move(header.metadata),
                        .tensors = {}};
  TROUPE_TRY(read_and_verify(reader, checkpoint));
  point_into(reader, checkpoint);
  return checkpoint;
}

Result<CheckpointHeader> read_checkpoint_header(const SafetensorsReader& reader) {
  const auto& metadata = reader.metadata();
  const auto version = metadata.find("troupe_checkpoint");
  if (version == metadata.end() || version->second != format_version)
    return corrupt(reader, "it is not a checkpoint of version {}", format_version);
  TROUPE_TRY(const auto step, read_number(reader, "step"));
  TROUPE_TRY(const auto epoch, read_number(reader, "epoch"));
  CheckpointHeader header{.step = step, .epoch = epoch, .metadata = metadata, .tensors = {}};
  for (const auto key : own_keys)
    header.metadata.erase(std::string{key});
  for (const auto& entry : reader.entries()) {
    if (entry.dtype != "F32" || entry.begin % sizeof(float) != 0)
      return corrupt(reader, "tensor '{}' is {} at byte {}, not aligned F32", echoed(entry.name),
                     entry.dtype, entry.begin);
    header.tensors.push_back({entry.name, entry.shape});
  }
  return header;
}

bool is_checkpoint(const SafetensorsReader& reader) {
  return reader.metadata().contains("troupe_checkpoint");
}

Status verify_checkpoint(const SafetensorsReader& reader) {
  return verify(reader,
                [&](const SafetensorsReader::Observer& observe) { return reader.scan(observe); });
}

std::string parameters_sha256(const std::map<std::string, std::span<const float>>& parameters) {
  Sha256 sha;
  for (const auto& [name, values] : parameters)
    sha.update(std::as_bytes(values));
  return sha.hex_digest();
}

} // namespace troupe
