/// Decodes JPEG, PNG and WebP files with libjpeg, libpng and libwebp.
///
/// Files are not trusted. The header's size, limited by max_image_pixels, bounds the memory for one
/// image: at most max_bytes_per_pixel for each pixel, including the returned pixels, plus the file
/// itself. Time is proportional to the file's size and the number of pixels.
#pragma once

#include "data/image_dataset.hpp"

#include <filesystem>

namespace troupe::data {

/// Larger images are refused, so that a damaged header cannot request gigabytes. 8192 x 8192 (192
/// MiB of colour) exceeds what cameras produce and is 4 times data.image_size's largest value.
inline constexpr std::uint64_t max_image_pixels = std::uint64_t{1} << 26;

/// 3 bytes for red, green and blue; the decoder uses the rest. A progressive JPEG with four
/// components needs 8 bytes of coefficients a pixel, a lossless WebP 4 bytes.
inline constexpr std::uint64_t max_bytes_per_pixel = 12;

/// Each scan of a progressive JPEG visits all pixels but may take only a few bytes of the file.
/// Encoders write 10 scans.
inline constexpr int max_jpeg_scans = 100;

/// Returns true for .jpg, .jpeg, .png and .webp in any case.
bool is_image_file(const std::filesystem::path& path);

/// Reads an image into `pixels` as 3 channels of 8 bits, with the result of Pillow's
/// convert("RGB"): grey is replicated, palettes are looked up, alpha is dropped, the first frame of
/// an animation is used and 16 bits are rounded to 8. The content determines the kind of file, not
/// the name. A damaged file that Pillow opens by default gives Pillow's pixels, and
/// ImageView::damage is set. Errors: Errc::io; Errc::data for a truncated, damaged or too large
/// image or one of another kind.
Result<ImageView> read_image(const std::filesystem::path& path, std::vector<std::uint8_t>& pixels);

/// Reads an image with 3 channels or 1. One channel has the result of Pillow's convert("L") of the
/// colour image.
Result<ImageView> read_image(const std::filesystem::path& path, int channels,
                             std::vector<std::uint8_t>& pixels);

/// Decodes the content of an image file and chooses the decoder by content; `name` is used in
/// messages. The functions below decode one kind each.
Result<ImageView> decode_image(std::span<const std::uint8_t> file, const std::string& name,
                               std::vector<std::uint8_t>& pixels);
Result<ImageView> decode_jpeg(std::span<const std::uint8_t> file, const std::string& name,
                              std::vector<std::uint8_t>& pixels);
Result<ImageView> decode_png(std::span<const std::uint8_t> file, const std::string& name,
                             std::vector<std::uint8_t>& pixels);
Result<ImageView> decode_webp(std::span<const std::uint8_t> file, const std::string& name,
                              std::vector<std::uint8_t>& pixels);

} // namespace troupe::data
