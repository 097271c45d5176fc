#include "data/detail/image_file.hpp"

#include "core/fail.hpp"
#include "data/detail/file.hpp"

#include <algorithm>

namespace troupe::data {

namespace fs = std::filesystem;

namespace {

/// Converts pixels of three bytes to one byte in place. ITU-R 601-2, in Pillow's fixed-point
/// arithmetic.
void make_grey(std::vector<std::uint8_t>& pixels) {
  const auto count = pixels.size() / 3;
  for (std::size_t i = 0; i < count; ++i)
    pixels[i] = static_cast<std::uint8_t>((pixels[3 * i] * 19595u + pixels[3 * i + 1] * 38470u +
                                           pixels[3 * i + 2] * 7471u + 0x8000u) >>
                                          16);
  pixels.resize(count);
}

} // namespace

bool is_image_file(const fs::path& path) {
  const auto extension = lower_extension(path);
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png" || extension == ".webp";
}

Result<ImageView> read_image(const fs::path& path, std::vector<std::uint8_t>& pixels) {
  TROUPE_TRY(const auto file, read_file(path));
  auto image = decode_image(file, path.string(), pixels);
  if (image && !image->damage.empty())
    image->damage = fmt::format("{}: {}", path.string(), image->damage);
  return image;
}

Result<ImageView> read_image(const fs::path& path, int channels,
                             std::vector<std::uint8_t>& pixels) {
  TROUPE_TRY(auto image, read_image(path, pixels));
  if (channels == image.channels)
    return image;
  pixels.resize(image.pixels.size());
  make_grey(pixels);
  return ImageView{pixels, image.height, image.width, 1, std::move(image.damage)};
}

Result<ImageView> decode_image(std::span<const std::uint8_t> file, const std::string& name,
                               std::vector<std::uint8_t>& pixels) {
  const auto starts_with = [file](std::initializer_list<std::uint8_t> magic) {
    return file.size() >= magic.size() && std::equal(magic.begin(), magic.end(), file.begin());
  };
  if (starts_with({0xff, 0xd8}))
    return decode_jpeg(file, name, pixels);
  if (starts_with({0x89, 'P', 'N', 'G'}))
    return decode_png(file, name, pixels);
  if (starts_with({'R', 'I', 'F', 'F'}))
    return decode_webp(file, name, pixels);
  return fail(Errc::data, "{}: expected a JPEG, PNG or WebP image, found {}", name,
              file.empty() ? "an empty file" : "another format; delete or convert the file");
}

} // namespace troupe::data
