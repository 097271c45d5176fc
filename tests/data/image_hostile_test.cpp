// Tests images with false headers: none may crash the reader, or take more memory than
// image_file.hpp allows for the number of pixels in its header.
#include "data/detail/image_file.hpp"
#include "tests/support/fuzz.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/mutations.hpp"
#include "tests/support/peak_memory.hpp"
#include "tests/support/sanitized.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <array>

#include <zlib.h>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;
using troupe::testing::fuzzed_files;
using troupe::testing::is_sanitized;
using troupe::testing::memory_of;
using troupe::testing::MutationRandom;

namespace {

constexpr std::size_t spare_bytes = std::size_t{64} << 20;

struct HostileKind {
  const char* name;
  void (*write)(const std::filesystem::path&);
};

const std::array<HostileKind, 7> kinds = {{
    {"a.png", [](const auto& path) { write_png(path, pattern(40, 40, 3), 40, 40, 3); }},
    {"palette.png", [](const auto& path) { write_palette_png(path, pattern(40, 40, 1), 40, 40); }},
    {"a.jpg", [](const auto& path) { write_jpeg(path, pattern(40, 40, 3), 40, 40, 3); }},
    {"progressive.jpg",
     [](const auto& path) { write_jpeg(path, pattern(40, 40, 3), 40, 40, 3, true); }},
    {"a.webp", [](const auto& path) { write_webp(path, pattern(40, 40, 3), 40, 40, 3); }},
    {"lossy.webp",
     [](const auto& path) { write_webp(path, pattern(40, 40, 4), 40, 40, 4, WebpKind::lossy); }},
    {"animated.webp",
     [](const auto& path) { write_animated_webp(path, pattern(14, 16, 3), 14, 16); }},
}};

std::uint32_t crc_of(const std::string& text, std::size_t at, std::size_t bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(text.data()) + at, bytes));
}

void put_big_endian(std::string& file, std::size_t at, std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0})
    file[at++] = static_cast<char>(value >> shift);
}

std::size_t big_endian(const std::string& file, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<std::uint8_t>(file[at + i]);
  return value;
}

/// Recomputes the checksums: otherwise the reader would not parse a changed PNG any further.
void mend_png(std::string& file) {
  for (std::size_t at = 8; at + 12 <= file.size();) {
    const auto length = big_endian(file, at);
    if (length > file.size() - at - 12)
      return;
    put_big_endian(file, at + 8 + length, crc_of(file, at + 4, length + 4));
    at += 12 + length;
  }
}

std::string mutated_image(std::string file, unsigned seed) {
  using namespace troupe::testing;
  constexpr std::array<void (*)(MutationRandom&, std::string&), 6> ways = {
      flip_bytes, cut, repeat_a_piece, remove_a_piece, overwrite_a_number, overwrite_a_number};
  MutationRandom random{seed};
  ways[seed % ways.size()](random, file);
  if (file.starts_with("\x89PNG") && random() % 4 != 0)
    mend_png(file);
  return file;
}

std::string error_of(const std::filesystem::path& path) {
  Bytes pixels;
  const auto image = read_image(path, pixels);
  return image ? "" : image.error().message;
}

/// Changes the frame header of a JPEG: marker, length, precision, then height and width.
void set_jpeg_size(const std::filesystem::path& path, const char* marker, std::uint32_t size) {
  auto bytes = read_bytes(path);
  const auto frame = bytes.find(marker);
  REQUIRE(frame != std::string::npos);
  put_big_endian(bytes, frame + 5, size);
  write_bytes(path, bytes);
}

} // namespace

TEST_CASE("mutated images are read or refused within the memory limit for their pixels", "[fuzz]") {
  const auto& kind = GENERATE(from_range(kinds));
  CAPTURE(kind.name);
  const ScratchFolder folder;
  const auto path = folder / kind.name;
  kind.write(path);
  const auto good = read_bytes(path);
  REQUIRE(error_of(path).empty());
  const auto read_all = [&](auto&& seen) {
    for (unsigned seed = 0; seed < fuzzed_files(); ++seed) {
      const auto file = mutated_image(good, seed);
      Bytes pixels;
      const bool whole =
          decode_image({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, kind.name,
                       pixels)
              .has_value();
      seen(file.size(), pixels.size() / 3, whole);
    }
  };
  const auto taken = memory_of([&] { read_all([](std::size_t, std::size_t, bool) {}); });
  std::size_t allowed = 0;
  unsigned refused = 0;
  read_all([&](std::size_t file, std::size_t stated, bool whole) {
    CHECK(stated <= max_image_pixels);
    allowed = std::max(allowed, 2 * file + max_bytes_per_pixel * stated);
    refused += whole ? 0 : 1;
  });
  if (!is_sanitized()) // sanitizers need additional memory
    CHECK(taken <= allowed + spare_bytes);
  CHECK(refused >
        fuzzed_files() / 10); // JPEG has no checksums: many mutated files are valid images
}

TEST_CASE("headers of 60000 x 60000 are refused before memory is allocated") {
  const ScratchFolder folder;
  constexpr std::uint32_t side = 60000;
  SECTION("PNG") {
    kinds[0].write(folder / "a");
    auto bytes = read_bytes(folder / "a");
    put_big_endian(bytes, 16, side);
    put_big_endian(bytes, 20, side);
    mend_png(bytes);
    write_bytes(folder / "a", bytes);
  }
  SECTION("JPEG") {
    kinds[2].write(folder / "a");
    set_jpeg_size(folder / "a", "\xff\xc0", side << 16 | side);
  }
  SECTION("progressive JPEG") {
    kinds[3].write(folder / "a");
    set_jpeg_size(folder / "a", "\xff\xc2", side << 16 | side);
  }
  SECTION("WebP") { // the largest size in a still image's header is 16384 x 16384
    kinds[4].write(folder / "a");
    auto bytes = read_bytes(folder / "a");
    bytes.replace(21, 4, "\xff\xff\xff\x0f"); // after RIFF, WEBP, VP8L and a signature byte
    write_bytes(folder / "a", bytes);
  }
  SECTION("animated WebP") {
    kinds[6].write(folder / "a");
    auto bytes = read_bytes(folder / "a");
    for (const std::size_t at : {24, 27}) { // in VP8X, less 1
      bytes[at] = static_cast<char>((side - 1) & 0xff);
      bytes[at + 1] = static_cast<char>((side - 1) >> 8);
    }
    write_bytes(folder / "a", bytes);
  }
  CHECK_THAT(error_of(folder / "a"), ContainsSubstring("pixels are too many"));
  if (!is_sanitized())
    CHECK(memory_of([&] { static_cast<void>(error_of(folder / "a")); }) < (std::size_t{8} << 20));
}

TEST_CASE("an image of the largest allowed size takes no more than the limit") {
  if (is_sanitized())
    SKIP("sanitizers need memory of their own");
  const ScratchFolder folder;
  const auto path = folder / "a.jpg";
  const bool progressive = GENERATE(false, true);
  write_jpeg(path, pattern(40, 40, 3), 40, 40, 3, progressive);
  set_jpeg_size(path, progressive ? "\xff\xc2" : "\xff\xc0", 8192u << 16 | 8192);
  CHECK(error_of(path).empty()); // missing pixels are grey, as with Pillow
  CHECK(memory_of([&] { static_cast<void>(error_of(path)); }) <=
        max_bytes_per_pixel * max_image_pixels + spare_bytes);
}

TEST_CASE("a JPEG with more scans than any encoder writes is refused") {
  const ScratchFolder folder;
  const auto path = folder / "a.jpg";
  write_jpeg(path, pattern(40, 40, 3), 40, 40, 3, true);
  const auto bytes = read_bytes(path);
  const auto begin = bytes.find("\xff\xda"), end = bytes.find("\xff\xc4", begin);
  REQUIRE(end != std::string::npos);
  const auto repeated = [&](int times) {
    auto file = bytes;
    for (int i = 0; i < times; ++i)
      file.insert(begin, bytes.substr(begin, end - begin));
    write_bytes(path, file);
    return error_of(path);
  };
  CHECK(repeated(max_jpeg_scans / 2).empty());
  CHECK_THAT(repeated(max_jpeg_scans), ContainsSubstring("more than 100 scans"));
}
