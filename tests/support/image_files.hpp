/// Small valid and damaged data files, in a folder that is removed with the test case.
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

/// Removes the last bytes of a file.
inline void truncate(const std::filesystem::path& path, std::uintmax_t bytes_less) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - bytes_less);
}

/// Compresses with gzip.
Bytes gzip(const Bytes& bytes);

/// Returns an image (height, width, channels) whose pixel values depend on their position.
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
/// channels: 3, or 4 with alpha. `lossy`: quality 100.
void write_webp(const std::filesystem::path& path, const Bytes& pixels, int height, int width,
                int channels, WebpKind kind = WebpKind::lossless);
/// Writes an animation whose only frame lies at (2, 4) (row, column) of a canvas of 16 x 20.
void write_animated_webp(const std::filesystem::path& path, const Bytes& pixels, int height,
                         int width);

} // namespace troupe::testing
