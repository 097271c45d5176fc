#include "core/config/config.hpp"
#include "data/augment.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;

namespace {

const nlohmann::json& recorded_resamples() {
  static const auto golden = nlohmann::json::parse(
      read_bytes(troupe::testing::source_tree() / "tests/golden/resample.json"));
  return golden;
}

Box box_of(const nlohmann::json& values) {
  return {values[0], values[1], values[2], values[3]};
}

AugmentOptions options_of(const nlohmann::json& recorded) {
  return {.image_size = recorded["size"],
          .channels = recorded["out_channels"],
          .resampled = true,
          .normalization = default_normalization("image_folder")};
}

void check_values(const nlohmann::json& recorded, const std::vector<float>& output) {
  const auto expected = recorded["values"].get<std::vector<float>>();
  REQUIRE(output.size() == expected.size());
  float worst = 0;
  for (std::size_t i = 0; i < output.size(); ++i)
    worst = std::max(worst, std::abs(output[i] - expected[i]));
  CAPTURE(recorded["height"], recorded["width"], recorded["channels"]);
  CHECK(worst < 2e-5f); // the recorded values are up to 2.6, with six digits
}

std::vector<float> output_of(const nlohmann::json& recorded, const Augment& augment,
                             const Cut& cut) {
  const int height = recorded["height"], width = recorded["width"], channels = recorded["channels"];
  const auto pixels = pattern(height, width, channels);
  std::vector<float> output(augment.elements());
  AugmentScratch scratch;
  augment.apply({pixels, height, width, channels}, cut, output.data(), scratch);
  return output;
}

/// Returns 1000 random boxes of an image.
std::vector<Box> boxes_of(Extent source) {
  const Augment augment{{.image_size = 224, .resized_crop = true, .resampled = true}};
  std::vector<Box> boxes;
  for (std::int64_t sample = 0; sample < 1000; ++sample)
    boxes.push_back(augment.cut(source, 3, sample).box);
  return boxes;
}

} // namespace

TEST_CASE("a resized box has torchvision's values") {
  for (const auto& recorded : recorded_resamples()["crops"]) {
    const Augment augment{options_of(recorded)};
    const int size = recorded["size"];
    check_values(recorded,
                 output_of(recorded, augment,
                           {box_of(recorded["box"]), {size, size}, {.flip = recorded["flip"]}}));
  }
}

TEST_CASE("a resized and cropped test image has torchvision's values") {
  for (const auto& recorded : recorded_resamples()["evaluations"]) {
    auto options = options_of(recorded);
    options.resize = recorded["resize"];
    const Augment augment{options};
    const Extent source{recorded["height"], recorded["width"]};
    check_values(recorded, output_of(recorded, augment, augment.cut(source, 0, 0)));
  }
}

TEST_CASE("if no attempt finds a box, it is torchvision's central one") {
  for (const auto& recorded : recorded_resamples()["fallbacks"]) {
    const Extent source{recorded["height"], recorded["width"]};
    const double ratio = double(source.width) / source.height;
    if (ratio > 0.2 && ratio < 5)
      continue; // a random try finds a box
    CHECK(random_box(CounterRng{1, 2}, source) == box_of(recorded["box"]));
  }
  CHECK(random_box(CounterRng{1, 2}, {1, 1}) == Box{0, 0, 1, 1});
}

TEST_CASE("random boxes have torchvision's range of areas and ratios, all over the image") {
  constexpr Extent source{300, 400};
  double least_area = 1, largest_area = 0, sum = 0, least_ratio = 9, largest_ratio = 0;
  int top = 0, bottom = 0;
  for (const auto& box : boxes_of(source)) {
    REQUIRE((box.top >= 0 && box.left >= 0 && box.height > 0 && box.width > 0));
    REQUIRE((box.top + box.height <= source.height && box.left + box.width <= source.width));
    const double area = double(box.height) * box.width / (300 * 400);
    const double ratio = double(box.width) / box.height;
    least_area = std::min(least_area, area);
    largest_area = std::max(largest_area, area);
    least_ratio = std::min(least_ratio, ratio);
    largest_ratio = std::max(largest_ratio, ratio);
    sum += area;
    top += box.top + box.height / 2 < 150;
    bottom += box.top + box.height / 2 > 150;
  }
  CHECK((least_area > 0.075 && least_area < 0.1));
  CHECK(largest_area > 0.9);
  CHECK((least_ratio > 0.74 && least_ratio < 0.78));
  CHECK((largest_ratio > 1.29 && largest_ratio < 1.35));
  CHECK(std::abs(sum / 1000 - 0.432) < 0.025); // torchvision's mean; large boxes do not always fit
  CHECK((top > 400 && bottom > 400));
}

TEST_CASE("a box depends only on seed, epoch and sample") {
  constexpr Extent source{300, 400};
  const AugmentOptions options{
      .image_size = 224, .resized_crop = true, .resampled = true, .seed = 4};
  auto other = options;
  other.seed = 5;
  const Augment augment{options};
  int same = 0;
  for (std::int64_t sample = 0; sample < 100; ++sample) {
    const auto box = augment.cut(source, 1, sample).box;
    CHECK(box == Augment{options}.cut(source, 1, sample).box);
    same += box == augment.cut(source, 2, sample).box;
    same += box == augment.cut(source, 1, sample + 1).box;
    same += box == Augment{other}.cut(source, 1, sample).box;
  }
  CHECK(same < 5);
}

TEST_CASE("images are mirrored the same with and without resized_crop") {
  const Augment with{{.flip = true, .resized_crop = true, .resampled = true}},
      without{{.flip = true}};
  for (std::int64_t sample = 0; sample < 50; ++sample)
    CHECK(with.cut({32, 32}, 0, sample).window.flip == without.window({32, 32}, 0, sample).flip);
}

TEST_CASE("with resized_crop test images become 8/7 of their size, or eval_resize") {
  DataConfig data;
  data.dataset = "image_folder";
  data.image_size = 224;
  const ImageInfo info{.name = "set", .source = "here", .class_names = {}};
  const auto options = [&](Split split) { return augment_options(data, {}, info, split, 1); };
  CHECK_FALSE((options(Split::train).host_only || options(Split::test).resampled));
  SECTION("resized_crop") {
    data.augment = {Augmentation::resized_crop, Augmentation::flip};
    CHECK((options(Split::train).resized_crop && options(Split::train).resampled));
    CHECK(options(Split::test).resize == 256);
    CHECK_FALSE(options(Split::test).resized_crop);
    data.eval_resize = 232;
    CHECK(options(Split::test).resize == 232);
  }
  SECTION("eval_resize without it leaves training unchanged") {
    data.eval_resize = 256;
    CHECK((options(Split::test).resampled && options(Split::test).resize == 256));
    CHECK_FALSE(options(Split::train).resampled);
    CHECK(options(Split::train).host_only);
  }
}

TEST_CASE("a scratch buffer used for other crops does not change the result") {
  const Augment augment{{.image_size = 8, .channels = 3, .resampled = true}};
  AugmentScratch used;
  std::vector<float> output(augment.elements()), fresh(augment.elements());
  for (const Extent source : {Extent{40, 9}, Extent{8, 8}, Extent{9, 300}, Extent{40, 9}}) {
    const auto pixels = pattern(source.height, source.width, 3);
    const Cut cut{{0, 0, source.height, source.width}, {8, 8}, {}};
    AugmentScratch scratch;
    augment.apply({pixels, source.height, source.width, 3}, cut, output.data(), used);
    augment.apply({pixels, source.height, source.width, 3}, cut, fresh.data(), scratch);
    CHECK(output == fresh);
  }
}
