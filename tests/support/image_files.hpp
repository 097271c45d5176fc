/// Small data files, whole and damaged, in a folder that goes with the test case.
#pragma once

#include "data/image_dataset.hpp"
#include "tests/support/scratch_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe::testing {

using Bytes = std::vector<std::uint8_t>;

inline void write_bytes(const std::filesystem::path& path, const Bytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  write_bytes(path, std::string_view{reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// Cuts a file's end off.
inline void truncate(const std::filesystem::path& path, std::uintmax_t bytes_less) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - bytes_less);
}

/// Packs with gzip.
Bytes gzip(const Bytes& bytes);

/// An image (height, width, channels) whose pixels follow from their place.
Bytes pattern(int height, int width, int channels);

/// channels: 1 grey, 2 grey and alpha, 3 colour, 4 colour and alpha.
void write_png(const std::filesystem::path& path, const Bytes& pixels, int height, int width,
               int channels);
/// 8-bit indices into 256 colours (i, 255 - i, 7).
void write_palette_png(const std::filesystem::path& path, const Bytes& indices, int height,
                       int width);
/// Quality 100 without colour subsampling. channels: 1, 3, or 4 for CMYK as Adobe writes it.
void write_jpeg(const std::filesystem::path& path, const Bytes& pixels, int height, int width,
                int channels, bool progressive = false);
enum class WebpKind : std::uint8_t { lossless, lossy };
/// channels: 3, or 4 with alpha. Lossy: quality 100.
void write_webp(const std::filesystem::path& path, const Bytes& pixels, int height, int width,
                int channels, WebpKind kind = WebpKind::lossless);
/// An animation whose one frame lies at (2, 4) (row, column) of a canvas of 16 x 20.
void write_animated_webp(const std::filesystem::path& path, const Bytes& pixels, int height,
                         int width);

} // namespace troupe::testing
