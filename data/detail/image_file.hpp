/// JPEG and PNG files to pixels, through libjpeg and libpng.
#pragma once

#include "../image_dataset.hpp"

#include <filesystem>

namespace troupe::data {

/// Larger images are refused: a damaged header must not make us ask for gigabytes. 8192 x 8192, 192
/// MiB of colour, is more than cameras make, and 4 times data.image_size's largest value.
inline constexpr std::uint64_t max_image_pixels = std::uint64_t{1} << 26;

/// True for .jpg, .jpeg and .png, whatever the case.
bool is_image_file(const std::filesystem::path& path);

/// Reads an image as 3 channels, 8 bits, into `pixels`, as Pillow's convert("RGB") gives it: grey
/// is replicated, palettes are looked up, alpha is dropped. The kind is found in the file, not in
/// its name. Errors: Errc::io, or Errc::data for what is truncated, damaged or of another kind.
Result<ImageView> read_image(const std::filesystem::path& path, std::vector<std::uint8_t>& pixels);

/// The decoders behind it; `name` is for messages.
Result<ImageView> decode_jpeg(std::span<const std::uint8_t> file, const std::string& name,
                              std::vector<std::uint8_t>& pixels);
Result<ImageView> decode_png(std::span<const std::uint8_t> file, const std::string& name,
                             std::vector<std::uint8_t>& pixels);

} // namespace troupe::data
