#include "core/checkpoint/safetensors.hpp"

#include "core/checkpoint/detail/safetensors_header.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/git_lfs.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t length_bytes = 8;
constexpr std::size_t alignment = 8;
/// The format's reference reader accepts 100 MB. Parsing takes a few times the memory of the
/// header, so this limit keeps any file within twice its size plus 64 MiB. 100,000 tensors need 6
/// MiB.
constexpr std::uint64_t max_header_bytes = std::uint64_t{8} << 20;
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

struct DTypeSize {
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<DTypeSize, 16> dtypes = {{
    {"BOOL", 1},
    {"U8", 1},
    {"I8", 1},
    {"F8_E4M3", 1},
    {"F8_E5M2", 1},
    {"U16", 2},
    {"I16", 2},
    {"F16", 2},
    {"BF16", 2},
    {"U32", 4},
    {"I32", 4},
    {"F32", 4},
    {"U64", 8},
    {"I64", 8},
    {"F64", 8},
    {"C64", 8},
}};

Result<std::uint64_t> tensor_bytes(std::string_view dtype, const Shape& shape) {
  const auto element = safetensors_dtype_size(dtype);
  if (!element)
    return fail(Errc::corrupt, "unknown dtype '{}'", echoed(dtype));
  std::uint64_t bytes = *element;
  for (const auto size : shape.dims)
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes))
      return fail(Errc::corrupt, "shape {} is out of range", shape.to_string());
  return bytes;
}

/// Reads exactly `into` at `offset`; retries when a signal interrupts it.
Status read_at(int descriptor, std::span<std::byte> into, std::uint64_t offset) {
  while (!into.empty()) {
    const auto count = ::pread(descriptor, into.data(), into.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fail(Errc::io, "{}", std::strerror(errno));
    if (count == 0)
      return fail(Errc::corrupt, "it ends at byte {}: it was truncated while it was read", offset);
    into = into.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

Status refuse_git_lfs_pointer(int descriptor, std::uint64_t file_bytes) {
  if (file_bytes >= most_git_lfs_pointer_bytes)
    return {};
  std::string begin(file_bytes, '\0');
  TROUPE_TRY(read_at(descriptor, std::as_writable_bytes(std::span{begin}), 0));
  if (is_git_lfs_pointer(begin))
    return fail(Errc::invalid_input, "{}", git_lfs_advice);
  return {};
}

Status in_file(const std::filesystem::path& path, Status status) {
  if (!status)
    return fail(status.error().code, "{}: {}", path.string(), status.error().message);
  return {};
}

/// Checks that a tensor's range in the data has the size of its type and shape.
Status check_size(const SafetensorsEntry& entry) {
  const auto bytes = tensor_bytes(entry.dtype, entry.shape);
  if (!bytes)
    return fail(Errc::corrupt, "tensor '{}': {}", echoed(entry.name), bytes.error().message);
  if (entry.end < entry.begin || entry.end - entry.begin != *bytes)
    return fail(
        Errc::corrupt, "tensor '{}': data_offsets [{}, {}] do not match the {} bytes of {} {}",
        echoed(entry.name), entry.begin, entry.end, *bytes, entry.dtype, entry.shape.to_string());
  return {};
}

} // namespace

std::optional<std::size_t> safetensors_dtype_size(std::string_view dtype) {
  const auto found = std::ranges::find(dtypes, dtype, &DTypeSize::name);
  return found == dtypes.end() ? std::nullopt : std::optional{found->bytes};
}

Result<std::string> make_safetensors_header(const SafetensorsMetadata& metadata,
                                            std::span<const SafetensorsEntry> tensors) {
  auto json = OrderedJson::object();
  // Insertion into an ordered object searches all keys. So names are checked here and pushed
  // unchecked.
  std::set<std::string_view> names = {safetensors_metadata_key};
  if (!metadata.empty()) {
    auto pairs = OrderedJson::object();
    for (const auto& [key, value] : metadata)
      pairs[key] = value;
    json[std::string{safetensors_metadata_key}] = std::move(pairs);
  }
  std::uint64_t offset = 0;
  for (const auto& tensor : tensors) {
    const auto bytes = tensor_bytes(tensor.dtype, tensor.shape);
    if (!bytes)
      return fail(Errc::internal, "tensor '{}': {}", tensor.name, bytes.error().message);
    if (!names.insert(tensor.name).second)
      return fail(Errc::internal, "two tensors have the name '{}'", tensor.name);
    json.get_ref<OrderedJson::object_t&>().push_back(
        {tensor.name, OrderedJson{{"dtype", tensor.dtype},
                                  {"shape", tensor.shape.dims},
                                  {"data_offsets", {offset, offset + *bytes}}}});
    offset += *bytes;
  }
  std::string text;
  try {
    text = json.dump();
  } catch (const OrderedJson::exception&) {
    return fail(Errc::internal, "a tensor's name, or a value of the metadata, is not UTF-8");
  }
  text.resize((text.size() + alignment - 1) / alignment * alignment, ' ');
  const std::uint64_t length = text.size();
  std::string header(length_bytes, '\0');
  std::memcpy(header.data(), &length, length_bytes);
  return header + text;
}

Result<SafetensorsReader> SafetensorsReader::open(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a pipe of that name would block forever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (const int number = errno; descriptor < 0)
    return fail(Errc::io, "cannot open {}: {}", echoed(path.string()), std::strerror(number));
  SafetensorsReader reader;
  reader.path_ = path;
  reader.descriptor_ = {new int(descriptor), [](const int* open) {
                          ::close(*open);
                          delete open;
                        }};
  TROUPE_TRY(in_file(path, reader.read_header()));
  return reader;
}

Status SafetensorsReader::read_header() {
  struct ::stat status {};
  if (::fstat(*descriptor_, &status) != 0)
    return fail(Errc::io, "{}", std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return fail(Errc::io, "it is not a regular file");
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  TROUPE_TRY(refuse_git_lfs_pointer(*descriptor_, file_bytes));
  if (file_bytes < length_bytes)
    return fail(Errc::corrupt, "{} bytes are too few for a safetensors file", file_bytes);
  std::uint64_t length = 0;
  TROUPE_TRY(read_at(*descriptor_, std::as_writable_bytes(std::span{&length, 1}), 0));
  if (length > file_bytes - length_bytes)
    return fail(Errc::corrupt,
                "a header of {} bytes does not fit in the file of {} bytes (truncated, or not "
                "safetensors)",
                length, file_bytes);
  if (length > max_header_bytes)
    return fail(Errc::corrupt, "a header of {} bytes exceeds the limit of {} bytes", length,
                max_header_bytes);
  header_.resize(length_bytes + length);
  TROUPE_TRY(read_at(*descriptor_, std::as_writable_bytes(std::span{header_}), 0));
  data_bytes_ = file_bytes - header_.size();
  return parse_header(std::string_view{header_}.substr(length_bytes));
}

Status SafetensorsReader::parse_header(std::string_view json_text) {
  TROUPE_TRY(auto header, parse_safetensors_header(json_text));
  metadata_ = std::move(header.metadata);
  entries_ = std::move(header.entries);
  for (const auto& entry : entries_)
    TROUPE_TRY(check_size(entry));
  std::ranges::sort(entries_, {}, [](const auto& entry) {
    return std::pair{entry.begin, entry.end};
  });
  std::uint64_t end = 0;
  for (const auto& entry : entries_) {
    if (entry.begin != end)
      return fail(Errc::corrupt, "tensor '{}' begins at byte {} of the data, not at {} ({})",
                  echoed(entry.name), entry.begin, end,
                  entry.begin < end ? "tensors overlap" : "there is a gap");
    end = entry.end;
  }
  if (end != data_bytes_)
    return fail(Errc::corrupt, "{} bytes of data, but the header describes {}{}", data_bytes_, end,
                data_bytes_ < end ? " (truncated)" : "");
  return {};
}

Status
SafetensorsReader::scan(const std::function<void(std::span<const std::byte>)>& observe) const {
  std::vector<std::byte> buffer(std::min<std::uint64_t>(piece_bytes, data_bytes_));
  for (std::uint64_t at = 0; at < data_bytes_; at += piece_bytes) {
    const auto piece =
        std::span{buffer}.first(std::min<std::uint64_t>(piece_bytes, data_bytes_ - at));
    TROUPE_TRY(read(at, piece));
    observe(piece);
  }
  return {};
}

Status SafetensorsReader::read(std::uint64_t at, std::span<std::byte> into) const {
  return in_file(path_, read_at(*descriptor_, into, header_.size() + at));
}

} // namespace troupe
