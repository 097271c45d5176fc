// Tests damaged files: those that Pillow opens are decoded as Pillow decodes them, the others are
// refused. tests/golden/record_damaged_images.py has recorded both.
#include "core/base64.hpp"
#include "core/config/config.hpp"
#include "data/check.hpp"
#include "data/detail/image_file.hpp"
#include "data/file_notes.hpp"
#include "data/image_adapter.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <zlib.h>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

const nlohmann::json& recorded_images() {
  static const auto golden = nlohmann::json::parse(
      read_bytes(troupe::testing::source_tree() / "tests/golden/damaged_images.json"));
  return golden;
}

Bytes bytes_of(const nlohmann::json& base64) {
  const auto text = from_base64(base64.get<std::string>()).value();
  return {text.begin(), text.end()};
}

Bytes pixels_of(const nlohmann::json& image) {
  const auto packed = bytes_of(image["pixels"]);
  Bytes pixels(recorded_images()["height"].get<std::size_t>() *
               recorded_images()["width"].get<std::size_t>() * 3);
  auto size = static_cast<uLongf>(pixels.size());
  REQUIRE(uncompress(pixels.data(), &size, packed.data(), static_cast<uLong>(packed.size())) ==
          Z_OK);
  REQUIRE(size == pixels.size());
  return pixels;
}

int largest_difference(const Bytes& a, const Bytes& b) {
  REQUIRE(a.size() == b.size());
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

void check_image(const nlohmann::json& image, int tolerance) {
  INFO(image["name"].get<std::string>());
  const auto file = bytes_of(image["file"]);
  Bytes pixels;
  const auto read = decode_image(file, "a", pixels);
  if (!image.contains("pixels")) {
    CHECK_FALSE(read);
    return;
  }
  if (!read) {
    FAIL_CHECK(read.error().message);
    return;
  }
  CHECK(largest_difference(pixels, pixels_of(image)) <= tolerance);
  if (image.contains("damaged"))
    CHECK(!read->damage.empty() == image["damaged"].get<bool>());
}

const nlohmann::json& image_named(const char* kind, const std::string& name) {
  const auto& images = recorded_images()[kind];
  return *std::ranges::find_if(images, [&](const auto& image) { return image["name"] == name; });
}

/// A folder with one class, for training and for evaluation: a valid image and a damaged one that
/// can still be decoded.
class FolderWithDamage {
public:
  FolderWithDamage() {
    for (const std::string split : {"train", "val"}) {
      write_bytes(folder_ / (split + "/a/1.png"),
                  bytes_of(image_named("png", "rgb: whole")["file"]));
      write_bytes(folder_ / (split + "/a/2.png"),
                  bytes_of(image_named("png", "rgb: no end")["file"]));
    }
  }

  Config config() const {
    Config config;
    config.model.num_classes = 1;
    config.data = {.dataset = "image_folder",
                   .root = folder_.path().string(),
                   .image_size = 8,
                   .batch_size = 2};
    return config;
  }

private:
  ScratchFolder folder_;
};

} // namespace

TEST_CASE("JPEG files, damaged or not, are decoded like Pillow, or refused") {
  // libjpeg-turbo computes with integers. Its smoothing of blocks in an incomplete progressive
  // image depends on the version.
  for (const auto& image : recorded_images()["jpeg"])
    check_image(image, image["name"].get<std::string>().starts_with("progressive: prem") ? 4 : 0);
}

TEST_CASE("PNG files, damaged or not, are decoded like Pillow, or refused") {
  for (const auto& image : recorded_images()["png"])
    check_image(image, 0);
}

TEST_CASE("a damaged file that can be read is noted once, however often it is read") {
  const FolderWithDamage folder;
  const auto adapter = open_adapter(folder.config(), Split::train).value();
  std::vector<float> images(2 * 8 * 8 * 3);
  std::vector<std::int32_t> labels(2);
  for (int epoch = 0; epoch < 3; ++epoch)
    REQUIRE(adapter->fill(std::array<std::int64_t, 2>{0, 1}, epoch,
                          std::array{std::as_writable_bytes(std::span{images}),
                                     std::as_writable_bytes(std::span{labels})}));
  const auto lines = adapter->damaged()->take_lines();
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], ContainsSubstring("damaged, but read: ") &&
                           ContainsSubstring("train/a/2.png: its end (IEND) is missing"));
}

TEST_CASE("data check names damaged files that can be read") {
  const FolderWithDamage folder;
  const auto check = check_split(folder.config(), Split::test).value();
  CHECK(check.unreadable.empty());
  CHECK(check.per_class == std::vector<std::int64_t>{2});
  REQUIRE(check.damaged.size() == 1);
  CHECK_THAT(check.damaged[0], ContainsSubstring("val/a/2.png"));
}
