// Tests the real data sets, if they exist: in the folder that TROUPE_DATA names, or in datasets/.
#include "core/config/config.hpp"
#include "data/image_dataset.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>

using namespace troupe;
using namespace troupe::data;

namespace {

struct RealSet {
  std::string name, folder;
  std::int64_t train, test;
  int size;
};

std::filesystem::path folder_of(const RealSet& set) {
  const char* root = std::getenv("TROUPE_DATA");
  return (root != nullptr ? root : troupe::testing::source_tree() / "datasets") / set.folder;
}

/// Counts how often each pixel value occurs.
struct Histogram {
  std::array<std::int64_t, 256> counts = {};

  double mean_of(double (*function)(double)) const {
    double sum = 0, count = 0;
    for (std::size_t value = 0; value < counts.size(); ++value) {
      sum += static_cast<double>(counts[value]) * function(static_cast<double>(value) / 255);
      count += static_cast<double>(counts[value]);
    }
    return sum / count;
  }
  double mean() const {
    return mean_of([](double value) { return value; });
  }
  double deviation() const {
    return std::sqrt(mean_of([](double value) { return value * value; }) - mean() * mean());
  }
};

} // namespace

TEST_CASE("the real data sets have their known counts, means and deviations") {
  const auto set = GENERATE(RealSet{"cifar10", "cifar10", 50000, 10000, 32},
                            RealSet{"mnist", "mnist", 60000, 10000, 28},
                            RealSet{"fashion_mnist", "fashion-mnist", 60000, 10000, 28});
  DYNAMIC_SECTION(set.name) {
    DataConfig data;
    data.dataset = set.name;
    data.root = folder_of(set).string();
    if (!std::filesystem::is_directory(data.root))
      SKIP(data.root << " is not there: fetch it with tools/fetch-data " << set.folder << " "
                     << data.root);
    const auto train = open_images(data, {}, Split::train),
               test = open_images(data, {}, Split::test);
    if (!train || !test)
      FAIL((train ? test : train).error().to_string());
    REQUIRE((*train)->size() == set.train);
    REQUIRE((*test)->size() == set.test);

    const auto channels = static_cast<std::size_t>((*train)->info().channels);
    Histogram seen[3];
    std::vector<std::int64_t> labels(10);
    std::vector<std::uint8_t> scratch;
    for (std::int64_t i = 0; i < set.train; ++i) {
      ++labels[static_cast<std::size_t>((*train)->label(i))];
      const auto image = (*train)->read(i, scratch);
      REQUIRE(image->height == set.size);
      for (std::size_t p = 0; p < image->pixels.size(); ++p)
        ++seen[p % channels].counts[image->pixels[p]];
    }
    const auto& [mean, deviation] = (*train)->info().normalization;
    for (std::size_t c = 0; c < channels; ++c) {
      CHECK(std::abs(seen[c].mean() - mean[c]) < 1e-4);
      CHECK(std::abs(seen[c].deviation() - deviation[c]) < 1e-4);
    }
    // 5,000 (CIFAR-10) or 6,000 (Fashion-MNIST) of each class; MNIST's counts vary.
    if (set.name != "mnist")
      CHECK(labels == std::vector<std::int64_t>(10, set.train / 10));
  }
}
