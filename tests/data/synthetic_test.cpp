#include "data/formats.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <vector>

using namespace troupe;
using namespace troupe::data;

namespace {

std::vector<float> pixels_of(const ImageDataset& dataset, std::int64_t index) {
  std::vector<std::uint8_t> scratch;
  const auto image = dataset.read(index, scratch);
  REQUIRE(image);
  return {image->pixels.begin(), image->pixels.end()};
}

float squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

} // namespace

TEST_CASE("synthetic images are reproducible and differ between samples and splits") {
  const SyntheticOptions options{.samples = 20, .classes = 4, .image_size = 16, .channels = 3};
  const auto train = open_synthetic(options, Split::train),
             again = open_synthetic(options, Split::train);
  const auto test = open_synthetic(options, Split::test);
  REQUIRE((train && again && test));
  CHECK((*train)->size() == 20);
  CHECK((*train)->num_classes() == 4);
  CHECK((*train)->label(7) == 3);
  CHECK(pixels_of(**train, 7) == pixels_of(**again, 7));
  CHECK(pixels_of(**train, 7) != pixels_of(**train, 3)); // same class, another sample
  CHECK(pixels_of(**train, 7) != pixels_of(**test, 7));
}

TEST_CASE("the class of a synthetic test image can be learned from the training images") {
  const SyntheticOptions options{.samples = 200, .classes = 10, .image_size = 32, .channels = 1};
  const auto train = *open_synthetic(options, Split::train);
  const auto test =
      *open_synthetic({.samples = 50, .classes = 10, .image_size = 32, .channels = 1}, Split::test);
  std::vector<std::vector<float>> centres(10, std::vector<float>(32 * 32));
  for (std::int64_t i = 0; i < train->size(); ++i) {
    const auto pixels = pixels_of(*train, i);
    auto& centre = centres[static_cast<std::size_t>(train->label(i))];
    for (std::size_t p = 0; p < pixels.size(); ++p)
      centre[p] += pixels[p] / 20;
  }
  for (std::int64_t i = 0; i < test->size(); ++i) {
    const auto pixels = pixels_of(*test, i);
    const auto suggestion =
        std::min_element(centres.begin(), centres.end(), [&](const auto& a, const auto& b) {
          return squared_distance(a, pixels) < squared_distance(b, pixels);
        });
    CHECK(suggestion - centres.begin() == test->label(i));
  }
}

TEST_CASE("an empty synthetic data set is refused") {
  CHECK_FALSE(open_synthetic({.samples = 0}, Split::train));
  CHECK_FALSE(open_synthetic({.samples = 1, .classes = 0}, Split::train));
}
