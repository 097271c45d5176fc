/// JPEG, PNG and WebP files to pixels, through libjpeg, libpng and libwebp.
///
/// Files are not trusted. Memory for one is what its header says and max_image_pixels allows: at
/// most max_bytes_per_pixel for each pixel, pixels that are given back among them, besides the file
/// itself. Time is in proportion to the file and these pixels.
#pragma once

#include "data/image_dataset.hpp"

#include <filesystem>

namespace troupe::data {

/// Larger images are refused: a damaged header must not make us ask for gigabytes. 8192 x 8192, 192
/// MiB of colour, is more than cameras make, and 4 times data.image_size's largest value.
inline constexpr std::uint64_t max_image_pixels = std::uint64_t{1} << 26;

/// 3 for red, green and blue; the rest is the decoders': a progressive JPEG of four components has
/// 8 bytes of coefficients a pixel, a lossless WebP 4 of pixels.
inline constexpr std::uint64_t max_bytes_per_pixel = 12;

/// Each scan of a progressive JPEG goes over all of its pixels and may be a few bytes long.
/// Encoders make 10 of them.
inline constexpr int max_jpeg_scans = 100;

/// True for .jpg, .jpeg, .png and .webp, whatever the case.
bool is_image_file(const std::filesystem::path& path);

/// Reads an image as 3 channels, 8 bits, into `pixels`, as Pillow's convert("RGB") gives it: grey
/// is replicated, palettes are looked up, alpha is dropped, of an animation the first frame is
/// taken; 16 bits are rounded to 8. The kind is found in the file, not in its name. A damaged file
/// that Pillow opens by default gives the pixels that Pillow gives, and ImageView::damage. Errors:
/// Errc::io, or Errc::data for what is truncated, damaged, too large or of another kind.
Result<ImageView> read_image(const std::filesystem::path& path, std::vector<std::uint8_t>& pixels);

/// The same with 3 channels, or with 1: what was read in colour becomes grey as Pillow's
/// convert("L") makes it.
Result<ImageView> read_image(const std::filesystem::path& path, int channels,
                             std::vector<std::uint8_t>& pixels);

/// The same of a file's content; `name` is for messages. Behind it the decoder of each kind.
Result<ImageView> decode_image(std::span<const std::uint8_t> file, const std::string& name,
                               std::vector<std::uint8_t>& pixels);
Result<ImageView> decode_jpeg(std::span<const std::uint8_t> file, const std::string& name,
                              std::vector<std::uint8_t>& pixels);
Result<ImageView> decode_png(std::span<const std::uint8_t> file, const std::string& name,
                             std::vector<std::uint8_t>& pixels);
Result<ImageView> decode_webp(std::span<const std::uint8_t> file, const std::string& name,
                              std::vector<std::uint8_t>& pixels);

} // namespace troupe::data
