#include "data/detail/image_file.hpp"
#include "data/formats.hpp"
#include "tests/support/image_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cstdlib>

#include <sys/stat.h>
#include <zlib.h>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Returns a smooth image, which JPEG preserves within a few grey levels.
Bytes gradient(int height, int width, int channels) {
  Bytes pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        pixels.push_back(static_cast<std::uint8_t>(20 + 3 * y + 2 * x + 40 * c));
  return pixels;
}

int largest_difference(std::span<const std::uint8_t> a, const Bytes& b) {
  REQUIRE(a.size() == b.size());
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

Bytes replicated(const Bytes& grey, std::size_t step = 1) {
  Bytes colour;
  for (std::size_t i = 0; i < grey.size(); i += step)
    colour.insert(colour.end(), 3, grey[i]);
  return colour;
}

ImageView read(const std::filesystem::path& path, Bytes& pixels) {
  const auto image = read_image(path, pixels);
  if (!image)
    FAIL(image.error().to_string());
  CHECK(image->channels == 3);
  return *image;
}

std::string read_error(const std::filesystem::path& path) {
  Bytes pixels;
  const auto image = read_image(path, pixels);
  REQUIRE_FALSE(image);
  CHECK(image.error().code == Errc::data);
  CHECK_THAT(image.error().message, ContainsSubstring(path.string()));
  return image.error().message;
}

std::string folder_error(const std::filesystem::path& root, Split split) {
  const auto dataset = open_image_folder(root, split);
  REQUIRE_FALSE(dataset);
  CHECK(dataset.error().code == Errc::data);
  return dataset.error().message;
}

} // namespace

TEST_CASE("PNG images of every kind are read exactly, as three channels") {
  ScratchFolder folder;
  const auto path = folder / "image.png";
  Bytes pixels;
  SECTION("colour") {
    write_png(path, pattern(5, 7, 3), 5, 7, 3);
    const auto image = read(path, pixels);
    CHECK((image.height == 5 && image.width == 7));
    CHECK(largest_difference(image.pixels, pattern(5, 7, 3)) == 0);
  }
  SECTION("grey") {
    write_png(path, pattern(5, 7, 1), 5, 7, 1);
    CHECK(largest_difference(read(path, pixels).pixels, replicated(pattern(5, 7, 1))) == 0);
  }
  SECTION("colour and alpha: alpha is dropped, not blended") {
    const auto rgba = pattern(5, 7, 4);
    write_png(path, rgba, 5, 7, 4);
    Bytes rgb;
    for (std::size_t i = 0; i < rgba.size(); ++i)
      if (i % 4 != 3)
        rgb.push_back(rgba[i]);
    CHECK(largest_difference(read(path, pixels).pixels, rgb) == 0);
  }
  SECTION("grey and alpha") {
    write_png(path, pattern(5, 7, 2), 5, 7, 2);
    CHECK(largest_difference(read(path, pixels).pixels, replicated(pattern(5, 7, 2), 2)) == 0);
  }
  SECTION("palette") {
    const auto indices = pattern(5, 7, 1);
    write_palette_png(path, indices, 5, 7);
    Bytes rgb;
    for (const auto i : indices)
      rgb.insert(rgb.end(), {i, static_cast<std::uint8_t>(255 - i), 7});
    CHECK(largest_difference(read(path, pixels).pixels, rgb) == 0);
  }
}

TEST_CASE("JPEG images of every kind are read as three channels") {
  ScratchFolder folder;
  const auto path = folder / "image.jpg";
  Bytes pixels;
  SECTION("colour") {
    write_jpeg(path, gradient(24, 17, 3), 24, 17, 3);
    const auto image = read(path, pixels);
    CHECK((image.height == 24 && image.width == 17));
    CHECK(largest_difference(image.pixels, gradient(24, 17, 3)) <= 2);
  }
  SECTION("grey") {
    write_jpeg(path, gradient(24, 17, 1), 24, 17, 1);
    CHECK(largest_difference(read(path, pixels).pixels, replicated(gradient(24, 17, 1))) <= 2);
  }
  SECTION("inverted CMYK, which a few ImageNet files use") {
    const auto cmyk = gradient(24, 17, 4);
    write_jpeg(path, cmyk, 24, 17, 4);
    Bytes rgb;
    for (std::size_t i = 0; i < cmyk.size(); i += 4)
      for (std::size_t c = 0; c < 3; ++c)
        rgb.push_back(static_cast<std::uint8_t>((cmyk[i + c] * cmyk[i + 3] + 127) / 255));
    CHECK(largest_difference(read(path, pixels).pixels, rgb) <= 3);
  }
}

TEST_CASE("WebP images of every kind are read as three channels") {
  ScratchFolder folder;
  const auto path = folder / "image.webp";
  Bytes pixels;
  SECTION("lossless, exactly") {
    write_webp(path, pattern(5, 7, 3), 5, 7, 3);
    const auto image = read(path, pixels);
    CHECK((image.height == 5 && image.width == 7));
    CHECK(largest_difference(image.pixels, pattern(5, 7, 3)) == 0);
  }
  SECTION("lossy") { // colours are subsampled by two in both directions
    const auto grey = replicated(gradient(24, 17, 1));
    write_webp(path, grey, 24, 17, 3, WebpKind::lossy);
    CHECK(largest_difference(read(path, pixels).pixels, grey) <= 6);
  }
  SECTION("alpha is dropped, not blended") {
    const auto rgba = pattern(5, 7, 4);
    write_webp(path, rgba, 5, 7, 4);
    Bytes rgb;
    for (std::size_t i = 0; i < rgba.size(); ++i)
      if (i % 4 != 3)
        rgb.push_back(rgba[i]);
    CHECK(largest_difference(read(path, pixels).pixels, rgb) == 0);
  }
  SECTION("lossy with alpha") {
    auto rgba = gradient(24, 17, 4);
    for (std::size_t i = 0; i < rgba.size(); ++i)
      rgba[i] = i % 4 == 3 ? static_cast<std::uint8_t>(i % 256) : 120;
    write_webp(path, rgba, 24, 17, 4, WebpKind::lossy);
    CHECK(largest_difference(read(path, pixels).pixels, Bytes(24 * 17 * 3, 120)) <= 6);
  }
  SECTION("an animation: its first frame, on black outside of the frame") {
    write_animated_webp(path, pattern(5, 7, 3), 5, 7);
    const auto image = read(path, pixels);
    REQUIRE((image.height == 16 && image.width == 20));
    Bytes expected(16 * 20 * 3);
    const auto frame = pattern(5, 7, 3);
    for (std::size_t y = 0; y < 5; ++y)
      std::copy_n(frame.begin() + static_cast<std::ptrdiff_t>(y * 21), 21,
                  expected.begin() + static_cast<std::ptrdiff_t>(((y + 2) * 20 + 4) * 3));
    CHECK(largest_difference(image.pixels, expected) == 0);
  }
}

TEST_CASE("an animation with a frame outside of its canvas is refused") {
  ScratchFolder folder;
  write_animated_webp(folder / "a.webp", pattern(5, 17, 3), 5, 17);
  CHECK_THAT(read_error(folder / "a.webp"), ContainsSubstring("lies outside the image"));
}

TEST_CASE("a JPEG named .png is read as a JPEG") {
  ScratchFolder folder;
  write_jpeg(folder / "photo.png", gradient(8, 8, 3), 8, 8, 3);
  Bytes pixels;
  CHECK(largest_difference(read(folder / "photo.png", pixels).pixels, gradient(8, 8, 3)) <= 2);
}

TEST_CASE("an image truncated anywhere is refused, not filled with grey") {
  ScratchFolder folder;
  write_jpeg(folder / "a.jpg", pattern(40, 40, 3), 40, 40, 3);
  write_png(folder / "a.png", pattern(40, 40, 3), 40, 40, 3);
  write_webp(folder / "a.webp", pattern(40, 40, 3), 40, 40, 3);
  write_webp(folder / "lossy.webp", pattern(40, 40, 3), 40, 40, 3, WebpKind::lossy);
  write_animated_webp(folder / "animated.webp", pattern(14, 16, 3), 14, 16);
  for (const char* name : {"a.jpg", "a.png", "a.webp", "lossy.webp", "animated.webp"}) {
    const auto whole = read_bytes(folder / name);
    for (const double share : {0.0, 0.001, 0.01, 0.1, 0.5, 0.9}) {
      const auto kept = static_cast<std::size_t>(share * static_cast<double>(whole.size()));
      write_bytes(folder / name, std::string_view{whole}.substr(0, kept));
      INFO(name << " cut to " << kept << " of " << whole.size() << " bytes");
      read_error(folder / name);
    }
  }
}

TEST_CASE("an image with changed bytes never crashes the reader") {
  ScratchFolder folder;
  write_jpeg(folder / "a.jpg", gradient(40, 40, 3), 40, 40, 3);
  write_png(folder / "a.png", gradient(40, 40, 3), 40, 40, 3);
  Bytes pixels;
  for (const char* name : {"a.jpg", "a.png"}) {
    const auto whole = read_bytes(folder / name);
    for (std::size_t place = 4; place < whole.size(); place += 1 + whole.size() / 100) {
      auto damaged = whole;
      damaged[place] = static_cast<char>(damaged[place] ^ 0x5a);
      write_bytes(folder / name, damaged);
      const bool refused = !read_image(folder / name, pixels);
      constexpr std::size_t png_header = 33; // bytes covered by a checksum
      if (name[2] == 'p' && place < png_header)
        CHECK(refused);
    }
  }
}

TEST_CASE("a header that states gigabytes is refused before memory is allocated") {
  ScratchFolder folder;
  write_jpeg(folder / "a.jpg", gradient(8, 8, 3), 8, 8, 3);
  auto bytes = read_bytes(folder / "a.jpg");
  const auto frame = bytes.find("\xff\xc0"); // marker, length, precision, then height and width
  REQUIRE(frame != std::string::npos);
  bytes.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  write_bytes(folder / "a.jpg", bytes);
  CHECK_THAT(read_error(folder / "a.jpg"), ContainsSubstring("65500 x 65500 pixels are too many"));
}

TEST_CASE("a PNG that states more pixels than its file can contain takes no memory") {
  ScratchFolder folder;
  write_png(folder / "a.png", gradient(8, 8, 3), 8, 8, 3);
  const auto announce = [&](std::uint32_t side) {
    auto bytes = read_bytes(folder / "a.png");
    const auto put = [&](std::size_t at, std::uint32_t value) {
      for (const int shift : {24, 16, 8, 0})
        bytes[at++] = static_cast<char>(value >> shift);
    };
    put(16, side); // after the signature and the length and name of IHDR
    put(20, side);
    put(29, static_cast<std::uint32_t>(
                crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()) + 12, 17)));
    write_bytes(folder / "a.png", bytes);
  };
  announce(9000);
  CHECK_THAT(read_error(folder / "a.png"), ContainsSubstring("9000 x 9000 pixels are too many"));
  announce(8000);
  Bytes pixels;
  const auto image = read_image(folder / "a.png", pixels);
  REQUIRE_FALSE(image);
  CHECK_THAT(image.error().message, ContainsSubstring("8000 x 8000 pixels do not fit in"));
  CHECK(pixels.capacity() == 0);
}

TEST_CASE("a pipe among the images is refused") {
  ScratchFolder folder;
  write_png(folder / "train/a/1.png", pattern(2, 2, 3), 2, 2, 3);
  REQUIRE(::mkfifo((folder / "train/a/2.png").c_str(), 0600) == 0);
  CHECK_THAT(folder_error(folder.path(), Split::train),
             ContainsSubstring("2.png: not a regular file"));
}

TEST_CASE("a file that is not an image is refused") {
  ScratchFolder folder;
  write_bytes(folder / "a.jpg", "GIF89a");
  CHECK_THAT(read_error(folder / "a.jpg"), ContainsSubstring("expected a JPEG, PNG or WebP image"));
}

TEST_CASE("an image folder's labels are the indices of the sorted class names") {
  ScratchFolder folder;
  const Bytes dark(2 * 2 * 3, 10), bright(3 * 2 * 3, 200);
  write_png(folder / "train/b/2.png", bright, 3, 2, 3);
  write_png(folder / "train/b/1.png", dark, 2, 2, 3);
  write_png(folder / "train/b/deeper/0.PNG", bright, 3, 2, 3);
  write_jpeg(folder / "train/a/x.JPEG", dark, 2, 2, 3);
  write_png(folder / "train/C/1.png", dark, 2, 2, 3);
  write_bytes(folder / "train/a/notes.txt", "no image");
  write_bytes(folder / "train/readme.md", "no class");
  write_png(folder / "val/b/9.png", dark, 2, 2, 3);

  const auto train = open_image_folder(folder.path(), Split::train);
  REQUIRE(train);
  CHECK((*train)->info().class_names == std::vector<std::string>{"C", "a", "b"});
  REQUIRE((*train)->size() == 5);
  const std::int32_t expected[] = {0, 1, 2, 2, 2};
  for (std::int64_t i = 0; i < 5; ++i)
    CHECK((*train)->label(i) == expected[i]);
  Bytes scratch;
  CHECK((*train)->read(2, scratch)->pixels[0] ==
        10); // b/1.png before b/2.png before b/deeper/0.PNG
  CHECK((*train)->read(3, scratch)->height == 3);

  SECTION("a test split with fewer classes keeps the labels of training") {
    const auto val = open_image_folder(folder.path(), Split::test);
    REQUIRE(val);
    CHECK((*val)->num_classes() == 3);
    CHECK((*val)->label(0) == 2);
  }
  SECTION("a test split with an additional class is refused") {
    write_png(folder / "val/bb/9.png", dark, 2, 2, 3);
    CHECK_THAT(folder_error(folder.path(), Split::test), ContainsSubstring("have no class \"bb\""));
  }
  SECTION("a damaged image is named when it is read") {
    write_bytes(folder / "train/b/2.png", "");
    const auto again = open_image_folder(folder.path(), Split::train);
    REQUIRE(again);
    const auto image = (*again)->read(3, scratch);
    REQUIRE_FALSE(image);
    CHECK_THAT(image.error().message, ContainsSubstring("b/2.png"));
  }
}

TEST_CASE("hidden folders and files are skipped and counted") {
  const ScratchFolder folder;
  for (const auto* const name :
       {"train/a/1.png", "train/b/2.png", "train/.ipynb_checkpoints/1-checkpoint.png",
        "train/a/.ipynb_checkpoints/1-checkpoint.png", "train/b/._2.png", "train/.DS_Store"})
    write_png(folder / name, pattern(2, 2, 3), 2, 2, 3);
  const auto train = open_image_folder(folder.path(), Split::train).value();
  CHECK(train->class_names() == std::vector<std::string>{"a", "b"});
  REQUIRE(train->size() == 2);
  CHECK(train->label(1) == 1);
  CHECK(train->left_out().hidden == 4);
  CHECK(train->left_out().unread.empty());
}

TEST_CASE("unread files are counted by their lower-case extension") {
  const ScratchFolder folder;
  write_png(folder / "train/a/1.png", pattern(2, 2, 3), 2, 2, 3);
  for (const auto* const name : {"a/1.bmp", "a/2.BMP", "a/deeper/3.tif", "a/scan", "readme.md"})
    write_bytes(folder / "train" / name, Bytes{1});
  std::filesystem::create_symlink("nowhere", folder / "train/a/gone.png");
  const auto train = open_image_folder(folder.path(), Split::train).value();
  CHECK(train->size() == 1);
  CHECK(train->left_out().unread_text() ==
        "6 files are not read: 2 .bmp, 1 .tif, 1 broken link, 1 outside of the class folders, "
        "1 without extension");
}

TEST_CASE("a class without images is refused with the files that it has instead") {
  const ScratchFolder folder;
  write_bytes(folder / "train/cat/1.jfif", Bytes{1});
  write_bytes(folder / "train/cat/2.jfif", Bytes{1});
  CHECK_THAT(folder_error(folder.path(), Split::train),
             ContainsSubstring("train/cat: found no .jpg, .jpeg, .png or .webp files "
                               "(2 files are not read: 2 .jfif)"));
}

TEST_CASE("linked folders are followed once, and cycles are not followed") {
  const ScratchFolder folder;
  for (const auto* const name : {"train/a/1.png", "train/b/2.png", "elsewhere/c/3.png"})
    write_png(folder / name, pattern(2, 2, 3), 2, 2, 3);
  const auto link = [&](const char* to, const char* name) {
    std::filesystem::create_directory_symlink(to, folder / name);
  };
  link("../../elsewhere", "train/a/linked");
  link("../../elsewhere/c", "train/a/linked_again");
  link("..", "train/a/loop");
  link(".", "train/a/self");
  link("../../train", "elsewhere/back");
  link("../elsewhere/c", "train/c");
  const auto train = open_image_folder(folder.path(), Split::train).value();
  CHECK(train->class_names() == std::vector<std::string>{"a", "b", "c"});
  CHECK(train->size() == 4); // 1 and 3 in a, 2 in b, 3 in c
}

TEST_CASE("the folder of test images may be named val or test") {
  ScratchFolder folder;
  write_png(folder / "test/a/1.png", pattern(2, 2, 3), 2, 2, 3);
  CHECK(open_image_folder(folder.path(), Split::test));
}

TEST_CASE("an image folder with another layout is refused with the expected one") {
  ScratchFolder folder;
  CHECK_THAT(folder_error(folder / "nowhere", Split::train), ContainsSubstring("no such folder"));
  CHECK_THAT(folder_error("", Split::train), ContainsSubstring("data.root"));
  CHECK_THAT(folder_error(folder.path(), Split::train), ContainsSubstring("train/CLASS/*.jpg"));
  CHECK_THAT(folder_error(folder.path(), Split::test), ContainsSubstring("val"));
  std::filesystem::create_directories(folder / "train");
  CHECK_THAT(folder_error(folder.path(), Split::train),
             ContainsSubstring("found no class folders"));
  std::filesystem::create_directories(folder / "train/cat");
  CHECK_THAT(folder_error(folder.path(), Split::train),
             ContainsSubstring("train/cat: found no .jpg, .jpeg, .png or .webp files"));
}
