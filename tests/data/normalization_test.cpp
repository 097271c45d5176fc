#include "core/config/config.hpp"
#include "data/augment.hpp"
#include "tests/support/image_files.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::data;

TEST_CASE("a config normalizes with its own values or the data set's") {
  DataConfig data;
  data.dataset = "image_folder";
  CHECK(to_string(normalization_of(data)) == "mean 0.485, 0.456, 0.406, std 0.229, 0.224, 0.225");
  data.dataset = "mnist";
  CHECK(normalization_of(data) == default_normalization("mnist"));
  data.normalize.mean = {0.5};
  data.normalize.deviation = {0.25};
  CHECK(to_string(normalization_of(data)) == "mean 0.5, 0.5, 0.5, std 0.25, 0.25, 0.25");
  CHECK(to_string(normalization_of(data), 1) == "mean 0.5, std 0.25");
  data.normalize.mean = {0.1, 0.2, 0.3};
  data.normalize.deviation = {0.25, 0.5, 1};
  CHECK(normalization_of(data).mean == std::array{0.1f, 0.2f, 0.3f});
}

TEST_CASE("images are normalized as configured in both splits") {
  DataConfig data;
  const ImageInfo info{.name = "cifar10",
                       .source = "here",
                       .class_names = {},
                       .normalization = default_normalization("cifar10")};
  const auto used = [&](Split split) {
    return augment_options(data, {}, info, split, 1).normalization;
  };
  CHECK(used(Split::train) == default_normalization("cifar10"));
  data.normalize.mean = {0, 0, 0};
  data.normalize.deviation = {1, 1, 1};
  for (const auto split : {Split::train, Split::test})
    CHECK(used(split) == Normalization{});
}
