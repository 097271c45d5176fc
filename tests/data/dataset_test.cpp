#include "files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::data::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

DataConfig synthetic() {
  DataConfig data;
  data.dataset = "synthetic";
  data.synthetic_samples = 100;
  return data;
}

/// A folder as of MNIST with `count` images of 28 x 28.
void write_mnist(const std::filesystem::path& folder, std::uint8_t count) {
  Bytes images = {0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 28, 0, 0, 0, 28};
  images.resize(images.size() + std::size_t{count} * 28 * 28);
  Bytes labels = {0, 0, 8, 1, 0, 0, 0, count};
  labels.resize(labels.size() + count, 1);
  write_bytes(folder / "train-images-idx3-ubyte", images);
  write_bytes(folder / "train-labels-idx1-ubyte", labels);
}

} // namespace

TEST_CASE("a synthetic data set takes its classes, size and channels from the config") {
  ModelConfig model;
  model.num_classes = 100;
  model.in_channels = 1;
  auto data = synthetic();
  data.image_size = 64;
  const auto train = open_dataset(data, model, Split::train);
  REQUIRE(train);
  CHECK((*train)->size() == 100);
  CHECK((*train)->num_classes() == 100);
  Bytes scratch;
  CHECK((*train)->read(0, scratch)->height == 64);
  CHECK((*train)->read(0, scratch)->channels == 1);
  CHECK((*open_dataset(data, model, Split::test))->size() == 25);
}

TEST_CASE("data.limit keeps the first training samples and all test samples") {
  auto data = synthetic();
  data.limit = 32;
  CHECK((*open_dataset(data, {}, Split::train))->size() == 32);
  CHECK((*open_dataset(data, {}, Split::test))->size() == 25);
  data.limit = 1000;
  CHECK((*open_dataset(data, {}, Split::train))->size() == 100);
}

TEST_CASE("a model with another number of classes is refused with the number to set") {
  ScratchFolder folder;
  write_mnist(folder.path(), 3);
  DataConfig data;
  data.dataset = "mnist";
  data.root = folder.path().string();
  ModelConfig model;
  model.num_classes = 100;
  model.in_channels = 1;
  const auto dataset = open_dataset(data, model, Split::train);
  REQUIRE_FALSE(dataset);
  CHECK(dataset.error().code == Errc::data);
  CHECK(dataset.error().exit_code() == 2);
  CHECK_THAT(dataset.error().message, ContainsSubstring("mnist") &&
                                          ContainsSubstring("has 10 classes") &&
                                          ContainsSubstring("model.num_classes is 100") &&
                                          ContainsSubstring("set model.num_classes: 10"));
}

TEST_CASE("grey images fit models of one and of three channels, and no others") {
  ScratchFolder folder;
  write_mnist(folder.path(), 3);
  DataConfig data;
  data.dataset = "mnist";
  data.root = folder.path().string();
  ModelConfig model;
  model.in_channels = 1;
  CHECK(open_dataset(data, model, Split::train));
  model.in_channels = 3;
  CHECK(open_dataset(data, model, Split::train));
  model.in_channels = 4;
  CHECK_THAT(open_dataset(data, model, Split::train).error().message,
             ContainsSubstring("1 channels") && ContainsSubstring("model.in_channels is 4"));
}

TEST_CASE("colour images do not fit a model of one channel") {
  ScratchFolder folder;
  write_png(folder / "train/a/1.png", pattern(2, 2, 3), 2, 2, 3);
  DataConfig data;
  data.dataset = "image_folder";
  data.root = folder.path().string();
  ModelConfig model;
  model.num_classes = 1;
  CHECK(open_dataset(data, model, Split::train));
  model.in_channels = 1;
  CHECK_THAT(open_dataset(data, model, Split::train).error().message,
             ContainsSubstring("set model.in_channels: 3"));
}

TEST_CASE("an unknown data set is refused with the names there are") {
  DataConfig data;
  data.dataset = "cifar11";
  const auto dataset = open_dataset(data, {}, Split::train);
  REQUIRE_FALSE(dataset);
  CHECK_THAT(dataset.error().message,
             ContainsSubstring("cifar11") && ContainsSubstring("fashion_mnist"));
}
