#include "core/fail.hpp"
#include "data/detail/image_file.hpp"

#include <algorithm>
#include <cstring>
#include <webp/decode.h>

namespace troupe::data {

namespace {

using WebpFile = std::span<const std::uint8_t>;

/// A still image, or a frame of an animation: the data that libwebp decodes, and its position.
struct WebpFrame {
  WebpFile data;
  std::size_t left = 0, top = 0;
};

std::string_view reason(VP8StatusCode status) {
  switch (status) {
  case VP8_STATUS_OUT_OF_MEMORY:
    return "libwebp is out of memory";
  case VP8_STATUS_NOT_ENOUGH_DATA:
  case VP8_STATUS_SUSPENDED:
    return "the file is truncated";
  case VP8_STATUS_UNSUPPORTED_FEATURE:
    return "it uses a feature that libwebp does not support";
  default:
    return "it is damaged";
  }
}

tl::unexpected<Error> cannot_read(const std::string& name, std::string_view why) {
  return fail(Errc::data, "{}: cannot be read as WebP: {}", name, why);
}

std::size_t little_endian(WebpFile file, std::size_t at, std::size_t bytes) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value |= std::size_t{file[at + i]} << (8 * i);
  return value;
}

/// Returns the content of the first ANMF chunk: a header of 16 bytes, then the frame as a separate
/// file contains it. Empty if the chunk is missing or incomplete. (WebP Container Specification)
WebpFile first_animation_chunk(WebpFile file) {
  for (std::size_t at = 12; at + 8 <= file.size();) { // after RIFF, its size and WEBP
    const auto size = little_endian(file, at + 4, 4);
    const auto rest = file.subspan(at + 8);
    if (std::memcmp(file.data() + at, "ANMF", 4) == 0)
      return size <= rest.size() ? rest.first(size) : WebpFile{};
    if (size >= rest.size())
      break;
    at += 8 + size + size % 2;
  }
  return {};
}

Result<WebpFrame> first_frame(WebpFile file, bool animated, const std::string& name) {
  if (!animated)
    return WebpFrame{file};
  constexpr std::size_t header = 16;
  const auto chunk = first_animation_chunk(file);
  if (chunk.size() < header)
    return cannot_read(name, "it has no complete frame");
  // Positions are in units of two pixels.
  return WebpFrame{chunk.subspan(header), 2 * little_endian(chunk, 0, 3),
                   2 * little_endian(chunk, 3, 3)};
}

/// Decodes into the frame's position in `pixels`, which has rows of `width` pixels.
VP8StatusCode decode(const WebpFrame& frame, std::size_t width, std::vector<std::uint8_t>& pixels) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0)
    return VP8_STATUS_INVALID_PARAM;
  const auto first = (frame.top * width + frame.left) * 3;
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {.rgba = pixels.data() + first,
                          .stride = static_cast<int>(width * 3),
                          .size = pixels.size() - first};
  return WebPDecode(frame.data.data(), frame.data.size(), &config);
}

} // namespace

Result<ImageView> decode_webp(WebpFile file, const std::string& name,
                              std::vector<std::uint8_t>& pixels) {
  WebPBitstreamFeatures canvas = {};
  if (const auto status = WebPGetFeatures(file.data(), file.size(), &canvas);
      status != VP8_STATUS_OK)
    return cannot_read(name, reason(status));
  const auto width = static_cast<std::size_t>(canvas.width),
             height = static_cast<std::size_t>(canvas.height);
  if (width * height > max_image_pixels)
    return cannot_read(name, fmt::format("{} x {} pixels are too many", width, height));
  TROUPE_TRY(const auto frame, first_frame(file, canvas.has_animation != 0, name));
  WebPBitstreamFeatures part = {};
  if (const auto status = WebPGetFeatures(frame.data.data(), frame.data.size(), &part);
      status != VP8_STATUS_OK)
    return cannot_read(name, reason(status));
  if (frame.left + static_cast<std::size_t>(part.width) > width ||
      frame.top + static_cast<std::size_t>(part.height) > height)
    return cannot_read(name, "its first frame lies outside the image");
  pixels.assign(width * height * 3, 0); // pixels outside the first frame are black
  if (const auto status = decode(frame, width, pixels); status != VP8_STATUS_OK)
    return cannot_read(name, reason(status));
  return ImageView{pixels, canvas.height, canvas.width, 3};
}

} // namespace troupe::data
