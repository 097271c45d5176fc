#include "core/config/config.hpp"
#include "data/augment.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;

namespace {

const Normalization cifar{{0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}};

ImageView view(const Bytes& pixels, int height, int width, int channels) {
  return {pixels, height, width, channels};
}

std::vector<float> apply(const Augment& augment, const ImageView& image, const Window& window) {
  std::vector<float> output(augment.elements());
  AugmentScratch scratch;
  augment.apply(image, window, output.data(), scratch);
  return output;
}

} // namespace

TEST_CASE("resized, cropped, mirrored and normalized images match torchvision") {
  const auto golden = nlohmann::json::parse(
      read_bytes(troupe::testing::source_tree() / "tests/golden/augment.json"));
  for (const auto& recorded : golden["cases"]) {
    const int height = recorded["height"], width = recorded["width"],
              channels = recorded["channels"];
    const Augment augment{{.image_size = recorded["size"],
                           .channels = recorded["out_channels"],
                           .normalization = cifar}};
    Window window{recorded["top"], recorded["left"], recorded["flip"]};
    if (recorded["centre"]) {
      window = augment.window({height, width}, 0, 0);
      window.flip = recorded["flip"];
    }
    const auto pixels = pattern(height, width, channels);
    const auto output = apply(augment, view(pixels, height, width, channels), window);
    const auto expected = recorded["values"].get<std::vector<float>>();
    REQUIRE(output.size() == expected.size());
    float worst = 0;
    for (std::size_t i = 0; i < output.size(); ++i)
      worst = std::max(worst, std::abs(output[i] - expected[i]));
    INFO(height << " x " << width << " x " << channels << " to " << recorded["size"]);
    CHECK(worst < 1e-5f); // the recorded values are up to 2.2, with six digits
  }
}

TEST_CASE("without augmentation a pixel becomes (pixel / 255 - mean) / deviation") {
  const Augment augment{{.image_size = 4, .channels = 3, .normalization = cifar}};
  const auto pixels = pattern(4, 4, 3);
  const auto output = apply(augment, view(pixels, 4, 4, 3), {});
  for (std::size_t i = 0; i < output.size(); ++i)
    CHECK_THAT(output[i], Catch::Matchers::WithinAbs(
                              (static_cast<float>(pixels[i]) / 255 - cifar.mean[i % 3]) /
                                  cifar.deviation[i % 3],
                              1e-6));
}

TEST_CASE("the crop window depends only on seed, epoch and sample") {
  const AugmentOptions options{.image_size = 32, .crop = true, .flip = true, .seed = 4};
  const Augment augment{options}, again{options};
  auto other = options;
  other.seed = 5;
  int same_epoch = 0, same_seed = 0;
  for (std::int64_t sample = 0; sample < 200; ++sample) {
    const auto window = augment.window({32, 32}, 1, sample);
    CHECK(window == again.window({32, 32}, 1, sample));
    same_epoch += window == augment.window({32, 32}, 2, sample);
    same_seed += window == Augment{other}.window({32, 32}, 1, sample);
  }
  CHECK(same_epoch < 10); // 162 windows: about one match is expected
  CHECK(same_seed < 10);
}

TEST_CASE("random crops cover every offset of the padded image evenly, and half are mirrored") {
  const Augment augment{{.image_size = 32, .crop = true, .flip = true}};
  CHECK(augment.options().padding() == 4);
  int counts[9][9] = {}, flips = 0;
  constexpr int samples = 8100;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const auto window = augment.window({32, 32}, 0, sample);
    REQUIRE((window.top >= -4 && window.top <= 4 && window.left >= -4 && window.left <= 4));
    ++counts[window.top + 4][window.left + 4];
    flips += window.flip;
  }
  double chi_squared = 0;
  for (const auto& row : counts)
    for (const int count : row)
      chi_squared += (count - 100) * (count - 100) / 100.0;
  CHECK(chi_squared < 125);                   // 80 degrees of freedom: exceeded once in a thousand
  CHECK(std::abs(flips - samples / 2) < 150); // over three standard deviations
}

TEST_CASE("switching one augmentation off does not change the other's choices") {
  const Extent size{32, 32};
  const Augment both{{.crop = true, .flip = true}}, crop{{.crop = true}}, flip{{.flip = true}},
      none{{}};
  for (std::int64_t sample = 0; sample < 50; ++sample) {
    const auto window = both.window(size, 0, sample);
    CHECK(crop.window(size, 0, sample) == Window{window.top, window.left, false});
    CHECK(flip.window(size, 0, sample) == Window{0, 0, window.flip});
    CHECK(none.window(size, 0, sample) == Window{});
  }
}

TEST_CASE("resizing keeps the aspect ratio and makes the shorter side the image size") {
  CHECK(resized_extent({28, 28}, 32) == Extent{32, 32});
  CHECK(resized_extent({500, 375}, 224) == Extent{298, 224}); // int(224 · 500 / 375)
  CHECK(resized_extent({375, 500}, 224) == Extent{224, 298});
  CHECK(resized_extent({1, 1000}, 8) == Extent{8, 8000});
}

TEST_CASE("a scratch buffer used for images of other sizes does not change the result") {
  const Augment augment{{.image_size = 16, .channels = 3, .normalization = cifar}};
  AugmentScratch used;
  std::vector<float> output(augment.elements());
  for (const auto& [height, width] :
       {std::pair{9, 30}, {16, 16}, {40, 17}, {9, 30}, {9, 31}, {16, 40}}) {
    const auto pixels = pattern(height, width, 3);
    const auto image = view(pixels, height, width, 3);
    for (const Window window : {Window{-2, -1, false}, Window{1, 0, true}, Window{0, 2, true}}) {
      augment.apply(image, window, output.data(), used);
      CHECK(output == apply(augment, image, window));
    }
  }
}

TEST_CASE("crop and flip apply only to training") {
  DataConfig data;
  data.augment = {Augmentation::crop, Augmentation::flip};
  const ImageInfo info{
      .name = "set", .source = "here", .class_names = {}, .channels = 3, .normalization = cifar};
  const auto train = augment_options(data, {}, info, Split::train, 9);
  CHECK((train.crop && train.flip && train.seed == 9 && train.normalization.mean == cifar.mean));
  const auto test = augment_options(data, {}, info, Split::test, 9);
  CHECK_FALSE((test.crop || test.flip));
}
