#include "core/config/config.hpp"
#include "data/custom_images.hpp"
#include "data/formats.hpp"
#include "tests/support/image_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

DataConfig synthetic() {
  DataConfig data;
  data.dataset = "synthetic";
  data.limit = 100;
  return data;
}

/// Writes a split in MNIST's format with `count` images of 28 x 28.
void write_mnist(const std::filesystem::path& folder, std::uint8_t count,
                 const std::string& split = "train") {
  Bytes images = {0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 28, 0, 0, 0, 28};
  images.resize(images.size() + std::size_t{count} * 28 * 28);
  Bytes labels = {0, 0, 8, 1, 0, 0, 0, count};
  labels.resize(labels.size() + count, 1);
  write_bytes(folder / (split + "-images-idx3-ubyte"), images);
  write_bytes(folder / (split + "-labels-idx1-ubyte"), labels);
}

} // namespace

TEST_CASE("a synthetic data set takes its classes, size and channels from the config") {
  ModelConfig model;
  model.num_classes = 100;
  model.in_channels = 1;
  auto data = synthetic();
  data.image_size = 64;
  const auto train = open_images(data, model, Split::train);
  REQUIRE(train);
  CHECK((*train)->size() == 100);
  CHECK((*train)->num_classes() == 100);
  Bytes scratch;
  CHECK((*train)->read(0, scratch)->height == 64);
  CHECK((*train)->read(0, scratch)->channels == 1);
  CHECK((*open_images(data, model, Split::test))->size() == 25);
}

TEST_CASE("data.limit keeps the first training samples and all test samples") {
  const ScratchFolder folder;
  write_mnist(folder.path(), 9);
  write_mnist(folder.path(), 5, "t10k");
  DataConfig data;
  data.dataset = "mnist";
  data.root = folder.path().string();
  data.limit = 4;
  ModelConfig model;
  model.in_channels = 1;
  CHECK((*open_images(data, model, Split::train))->size() == 4);
  CHECK((*open_images(data, model, Split::test))->size() == 5);
  data.limit = 1000;
  CHECK((*open_images(data, model, Split::train))->size() == 9);
}

TEST_CASE("data.limit takes equally many images of each class of a folder") {
  const ScratchFolder folder;
  const auto write = [&](const std::string& name, std::uint8_t value) {
    write_png(folder / ("train/" + name + ".png"), Bytes(3, value), 1, 1, 3);
  };
  for (std::uint8_t i = 0; i < 9; ++i)
    write("a/" + std::to_string(i), i);
  for (std::uint8_t i = 0; i < 2; ++i)
    write("b/" + std::to_string(i), static_cast<std::uint8_t>(100 + i));
  write("c/0", 200);
  DataConfig data;
  data.dataset = "image_folder";
  data.root = folder.path().string();
  data.limit = 6;
  ModelConfig model;
  model.num_classes = 3;
  const auto train = open_images(data, model, Split::train).value();
  std::vector<std::int32_t> labels;
  std::vector<std::uint8_t> values;
  Bytes scratch;
  for (std::int64_t i = 0; i < train->size(); ++i) {
    labels.push_back(train->label(i));
    values.push_back(train->read(i, scratch).value().pixels[0]);
  }
  CHECK(labels == std::vector<std::int32_t>{0, 0, 0, 1, 1, 2});
  CHECK(values == std::vector<std::uint8_t>{0, 1, 2, 100, 101, 200});
}

TEST_CASE("data.limit keeps labels and pixels of in-memory images aligned") {
  Bytes pixels;
  for (std::uint8_t i = 0; i < 6; ++i)
    pixels.push_back(i);
  const auto images =
      images_in_memory({.name = "own", .source = {}, .class_names = {"a", "b"}, .channels = 1},
                       {0, 0, 0, 0, 1, 1}, pixels, {1, 1})
          .value();
  images->keep_spread(4);
  REQUIRE(images->size() == 4);
  Bytes scratch;
  std::vector<std::uint8_t> values;
  for (std::int64_t i = 0; i < images->size(); ++i)
    values.push_back(images->read(i, scratch).value().pixels[0]);
  CHECK(values == std::vector<std::uint8_t>{0, 1, 4, 5});
  CHECK(images->label(2) == 1);
}

TEST_CASE("a model with a wrong number of classes is refused with the right number") {
  ScratchFolder folder;
  write_mnist(folder.path(), 3);
  DataConfig data;
  data.dataset = "mnist";
  data.root = folder.path().string();
  ModelConfig model;
  model.num_classes = 100;
  model.in_channels = 1;
  const auto dataset = open_images(data, model, Split::train);
  REQUIRE_FALSE(dataset);
  CHECK(dataset.error().code == Errc::data);
  CHECK(dataset.error().exit_code() == 2);
  CHECK_THAT(dataset.error().message,
             ContainsSubstring("mnist") &&
                 ContainsSubstring("has 10 classes (\"0\", \"1\", \"2\", ") &&
                 ContainsSubstring("model.num_classes is 100") &&
                 ContainsSubstring("set model.num_classes: 10"));
}

TEST_CASE("grey images fit only models with one or three channels") {
  ScratchFolder folder;
  write_mnist(folder.path(), 3);
  DataConfig data;
  data.dataset = "mnist";
  data.root = folder.path().string();
  ModelConfig model;
  model.in_channels = 1;
  CHECK(open_images(data, model, Split::train));
  model.in_channels = 3;
  CHECK(open_images(data, model, Split::train));
  model.in_channels = 4;
  CHECK_THAT(open_images(data, model, Split::train).error().message,
             ContainsSubstring("1 channels") && ContainsSubstring("model.in_channels is 4"));
}

TEST_CASE("an image folder has as many channels as the model takes") {
  ScratchFolder folder;
  write_png(folder / "train/a/1.png", {255, 0, 0, 0, 255, 0, 0, 0, 255, 100, 150, 120}, 2, 2, 3);
  write_png(folder / "train/a/2.png", {0, 77, 130, 255}, 2, 2, 1);
  DataConfig data;
  data.dataset = "image_folder";
  data.root = folder.path().string();
  ModelConfig model;
  model.num_classes = 1;
  const auto colour = open_images(data, model, Split::train);
  REQUIRE(colour);
  CHECK((*colour)->info().channels == 3);
  model.in_channels = 1;
  const auto grey = open_images(data, model, Split::train);
  REQUIRE(grey);
  CHECK((*grey)->info().channels == 1);
  const auto pixels = [&](std::int64_t sample) {
    Bytes scratch;
    const auto image = (*grey)->read(sample, scratch);
    REQUIRE(image);
    CHECK(image->channels == 1);
    return Bytes(image->pixels.begin(), image->pixels.end());
  };
  CHECK(pixels(0) == Bytes{76, 150, 29, 132}); // Pillow's convert("L")
  CHECK(pixels(1) == Bytes{0, 77, 130, 255});
  model.in_channels = 2;
  CHECK_THAT(open_images(data, model, Split::train).error().message,
             ContainsSubstring("set model.in_channels: 3"));
}

TEST_CASE("an unknown data set is refused with the list of data sets") {
  DataConfig data;
  data.dataset = "cifar11";
  const auto dataset = open_images(data, {}, Split::train);
  REQUIRE_FALSE(dataset);
  CHECK_THAT(dataset.error().message,
             ContainsSubstring("cifar11") && ContainsSubstring("fashion_mnist"));
}

TEST_CASE("a fingerprint covers labels and pixels, independent of location and compression") {
  ScratchFolder folder;
  ModelConfig model;
  model.in_channels = 1;
  DataConfig data;
  data.dataset = "mnist";
  const auto fingerprint = [&](const std::filesystem::path& root) {
    data.root = root.string();
    const auto dataset = open_images(data, model, Split::train);
    REQUIRE(dataset);
    return (*dataset)->fingerprint();
  };
  write_mnist(folder / "a", 9);
  write_mnist(folder / "b", 9);
  const auto first = fingerprint(folder / "a");
  CHECK(first.size() == 32);
  const auto images = folder / "b/train-images-idx3-ubyte";
  SECTION("gzipped, in another folder") {
    const auto bytes = read_bytes(images);
    write_bytes(folder / "b/train-images-idx3-ubyte.gz", gzip({bytes.begin(), bytes.end()}));
    std::filesystem::remove(images);
    CHECK(fingerprint(folder / "b") == first);
  }
  SECTION("a pixel differs") {
    troupe::testing::write_byte(images, 16 + 5000, 1);
    CHECK(fingerprint(folder / "b") != first);
  }
  SECTION("a label differs") {
    troupe::testing::write_byte(folder / "b/train-labels-idx1-ubyte", 8 + 4, 2);
    CHECK(fingerprint(folder / "b") != first);
  }
  SECTION("another limit, and pixels beyond it") {
    data.limit = 5;
    const auto limited = fingerprint(folder / "a");
    CHECK(limited != first);
    troupe::testing::write_byte(images, 16 + 6000, 1); // a byte of sample 7
    CHECK(fingerprint(folder / "b") == limited);
  }
}

TEST_CASE("an image folder's fingerprint covers the names and sizes of its files") {
  ScratchFolder folder;
  const auto fingerprint = [](const std::filesystem::path& root) {
    const auto dataset = open_image_folder(root, Split::train);
    REQUIRE(dataset);
    return (*dataset)->fingerprint();
  };
  for (const char* file : {"train/cat/1.png", "train/cat/2.png", "train/dog/1.png"})
    write_bytes(folder / "a" / file, Bytes(10, 1));
  std::filesystem::copy(folder / "a", folder / "b", std::filesystem::copy_options::recursive);
  const auto first = fingerprint(folder / "a");
  CHECK(fingerprint(folder / "b") == first);
  SECTION("a name differs") {
    std::filesystem::rename(folder / "b/train/cat/2.png", folder / "b/train/cat/3.png");
  }
  SECTION("a size differs") {
    write_bytes(folder / "b/train/dog/1.png", Bytes(11, 1));
  }
  SECTION("a class differs") {
    std::filesystem::rename(folder / "b/train/dog", folder / "b/train/doe");
  }
  CHECK(fingerprint(folder / "b") != first);
}

TEST_CASE("a fingerprint is the same on every machine") {
  const auto synthetic = open_synthetic({.samples = 100, .classes = 10}, Split::train);
  REQUIRE(synthetic);
  CHECK((*synthetic)->fingerprint() == "e29f6ced9f165fc30205dbd9b0120502");
  CHECK((*open_synthetic({.samples = 100, .classes = 10, .image_size = 16}, Split::train))
            ->fingerprint() != (*synthetic)->fingerprint());
}
