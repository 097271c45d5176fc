#include "core/config/config.hpp"
#include "core/config/custom_data_set.hpp"
#include "core/fail.hpp"
#include "data/check.hpp"
#include "data/custom_images.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::data;
using Catch::Matchers::ContainsSubstring;

namespace {

ImageInfo dots_info() {
  return {.name = "dots",
          .source = "here",
          .class_names = {"few", "many"},
          .channels = 1,
          .normalization = {{0.25f}, {0.5f}}};
}

/// Opens three images of 2 x 1.
Result<AdapterPtr> open_dots(const Config& config, Split split) {
  TROUPE_TRY(auto images, images_in_memory(dots_info(), {0, 1, 0}, {0, 51, 102, 153, 204, 255},
                                           {.height = 2, .width = 1}));
  return open_custom_images(std::move(images), config, split);
}

Config of_dots() {
  Config config;
  config.model.num_classes = 2;
  config.model.in_channels = 1;
  config.data.dataset = "dots";
  config.data.image_size = 2;
  config.data.custom_sets =
      CustomRows{std::vector{CustomDataSet{.traits = {.name = "dots"}, .open = open_dots}}};
  return config;
}

std::string refusal_of(std::vector<std::int32_t> labels, std::size_t pixels) {
  const auto images = images_in_memory(
      dots_info(), std::move(labels), std::vector<std::uint8_t>(pixels), {.height = 2, .width = 1});
  return images ? "" : images.error().message;
}

} // namespace

TEST_CASE("a custom data set is opened by its name, up to data.limit samples") {
  auto config = of_dots();
  const auto all = open_adapter(config, Split::train);
  REQUIRE(all);
  CHECK((*all)->dataset().name() == "dots");
  CHECK((*all)->dataset().size() == 3);
  config.data.limit = 2;
  CHECK((*open_adapter(config, Split::train))->dataset().size() == 2);
  CHECK((*open_adapter(config, Split::test))->dataset().size() == 3);
}

TEST_CASE("data check reports the normalization of a custom data set") {
  const auto check = check_split(of_dots(), Split::train);
  REQUIRE(check);
  CHECK(check->normalization == dots_info().normalization);
}

TEST_CASE("a custom data set has to match the model's classes") {
  auto config = of_dots();
  config.model.num_classes = 3;
  const auto opened = open_adapter(config, Split::train);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().exit_code() == 2);
  CHECK_THAT(opened.error().message, ContainsSubstring("dots (here) has 2 classes"));
}

TEST_CASE("images in memory need matching sizes and valid labels") {
  CHECK(refusal_of({0, 1}, 4).empty());
  CHECK(refusal_of({0, 1}, 5) ==
        "dots (here): 2 images of 2 x 1 x 1 have 4 bytes of pixels, found 5");
  CHECK(refusal_of({0, 2}, 4) == "dots (here): image 1 has label 2, expected 0 to 1");
  CHECK(refusal_of({-1, 0}, 4) == "dots (here): image 0 has label -1, expected 0 to 1");
}
