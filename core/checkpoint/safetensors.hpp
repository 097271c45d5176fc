/// The safetensors file format: an 8-byte little-endian header length, a JSON header, then the
/// tensors' bytes without gaps. PyTorch, NumPy and others read it.
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

/// One tensor of a file. `begin` and `end` count bytes from the start of the data.
struct SafetensorsEntry {
  std::string name;
  std::string dtype; ///< as the format spells it
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// String pairs of `__metadata__`, in the order in which they are written.
using SafetensorsMetadata = std::vector<std::pair<std::string, std::string>>;

/// Returns the bytes of one element of a dtype as the format spells it (F32, BF16, I64, ...);
/// nullopt if it is unknown.
std::optional<std::size_t> safetensors_dtype_size(std::string_view dtype);

/// Returns the bytes that precede the data of `tensors`, which is in their order: the length and
/// the header with `__metadata__` first, padded so that the data is aligned. Does not read `begin`
/// and `end` of the tensors.
Result<std::string> make_safetensors_header(const SafetensorsMetadata& metadata,
                                            std::span<const SafetensorsEntry> tensors);

/// A file whose header has been read and checked: sizes, types, gaps, overlaps and the file's
/// length. Accepts any content: open() returns a reader or an error (corrupt names the file and the
/// problem). It takes time proportional to the file's size, and memory of at most twice that size
/// plus 64 MiB.
class SafetensorsReader {
public:
  static Result<SafetensorsReader> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::vector<SafetensorsEntry>& entries() const { return entries_; } ///< in data order
  /// The length and the header exactly as they are in the file.
  std::string_view header() const { return header_; }

  /// Calls `observe` with the data of all tensors, chunk by chunk in file order.
  Status scan(const std::function<void(std::span<const std::byte>)>& observe) const;
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
