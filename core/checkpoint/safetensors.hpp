/// The safetensors file format: an 8-byte little-endian header length, a JSON header, then the
/// tensors' bytes without holes. PyTorch, NumPy and others read it.
#pragma once

#include "core/error.hpp"
#include "core/graph/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// One tensor to be written. The bytes are the caller's and are not copied.
struct SafetensorsView {
  std::string name;
  std::string dtype = "F32"; ///< as the format spells it
  Shape shape;
  std::span<const std::byte> bytes;
};

/// One tensor of a file. `begin` and `end` count bytes from the start of the data.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// String pairs of `__metadata__`, in the order to be written.
using SafetensorsMetadata = std::vector<std::pair<std::string, std::string>>;

/// Bytes of one element of a dtype as the format spells it (F32, BF16, I64, ...); empty: unknown.
std::optional<std::size_t> safetensors_dtype_size(std::string_view dtype);

/// Puts the tensors in the order of the file: wide elements first, so that each tensor is aligned.
void sort_for_safetensors(std::vector<SafetensorsView>& tensors);

/// What stands before the data of `tensors`, which must be in the order of the file and whose bytes
/// it does not look at: the length, and the header with `__metadata__` first, padded so that the
/// data is aligned.
Result<std::string> make_safetensors_header(const SafetensorsMetadata& metadata,
                                            std::span<const SafetensorsView> tensors);

/// Writes a whole file at once or, on an error, nothing.
Status write_safetensors(const std::filesystem::path& path, const SafetensorsMetadata& metadata,
                         std::vector<SafetensorsView> tensors);

/// A file whose header has been read and checked: sizes, types, no holes, no overlaps, the file's
/// length. Any content gives a value or an error (Errc::corrupt names the file and what is wrong),
/// in time in proportion to its size, and memory of twice its size and 64 MiB at most.
class SafetensorsReader {
public:
  static Result<SafetensorsReader> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::vector<SafetensorsEntry>& entries() const { return entries_; } ///< in data order
  std::uint64_t data_bytes() const { return data_bytes_; }
  /// Length and header exactly as they are in the file.
  std::string_view header() const { return header_; }

  /// Reads the data of all tensors into one allocation (aligned as new does). `observe` sees it in
  /// file order, in pieces that are still in the cache.
  using Observer = std::function<void(std::span<const std::byte>)>;
  Result<std::shared_ptr<const std::byte[]>> read_data(const Observer& observe = {}) const;
  /// The same without keeping it.
  Status scan(const Observer& observe) const;
  /// Fills `into` with the data from byte `at` on.
  Status read(std::uint64_t at, std::span<std::byte> into) const;

private:
  SafetensorsReader() = default;
  Status read_header();
  Status parse_header(std::string_view json_text);

  std::filesystem::path path_;
  std::shared_ptr<const int> descriptor_; ///< closes the file
  std::string header_;
  std::map<std::string, std::string> metadata_;
  std::vector<SafetensorsEntry> entries_;
  std::uint64_t data_bytes_ = 0;
};

} // namespace troupe
