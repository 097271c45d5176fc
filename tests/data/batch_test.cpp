#include "core/config/config.hpp"
#include "cpu/host_device.hpp"
#include "data/batch.hpp"
#include "data/image_adapter.hpp"
#include "tests/support/image_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;

namespace {

Config synthetic_config() {
  Config config;
  config.data.dataset = "synthetic";
  config.data.limit = 50;
  config.data.image_size = 16;
  config.data.batch_size = 8;
  config.data.eval_batch_size = 4;
  config.data.augment = {Augmentation::crop, Augmentation::flip};
  return config;
}

struct Batch {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  bool operator==(const Batch&) const = default;
};

/// Returns the number of floats of one image.
std::size_t image_elements(const BatchAssembler& assembler) {
  return static_cast<std::size_t>(assembler.adapter().fields()[0].shape.elements());
}

Status fill_into(const BatchAssembler& assembler, Position at, const Slice& slice,
                 std::span<float> images, std::span<std::int32_t> labels) {
  return assembler.fill(at, slice,
                        std::array{std::as_writable_bytes(images), std::as_writable_bytes(labels)});
}

Batch fill(const BatchAssembler& assembler, Position at, const Slice& slice) {
  const auto size = assembler.sampler().slice_size(slice);
  const auto room = assembler.sampler().largest_slice(slice);
  REQUIRE(size);
  const auto elements = image_elements(assembler);
  Batch batch{std::vector<float>(static_cast<std::size_t>(*room) * elements),
              std::vector<std::int32_t>(static_cast<std::size_t>(*room))};
  REQUIRE(fill_into(assembler, at, slice, batch.images, batch.labels));
  const auto own = static_cast<std::size_t>(*size);
  REQUIRE(std::all_of(batch.labels.begin() + *size, batch.labels.end(),
                      [](auto label) { return label == -1; }));
  batch.images.resize(own * elements);
  batch.labels.resize(own);
  return batch;
}

/// Fills all slices of a step, one after the other.
Batch fill_step(const BatchAssembler& assembler, Position at, int slices) {
  Batch all;
  for (int number = 0; number < slices; ++number) {
    const auto part = fill(assembler, at, {number, slices});
    all.images.insert(all.images.end(), part.images.begin(), part.images.end());
    all.labels.insert(all.labels.end(), part.labels.begin(), part.labels.end());
  }
  return all;
}

} // namespace

TEST_CASE("a training step has the same images and labels for any number of workers") {
  const auto assembler = training_batches(synthetic_config());
  REQUIRE(assembler);
  CHECK(image_elements(*assembler) == 16 * 16 * 3);
  CHECK(assembler->sampler().steps_per_epoch() == 6);
  for (const Position at : {Position{0, 0}, Position{2, 5}}) {
    const auto alone = fill_step(*assembler, at, 1);
    CHECK(fill_step(*assembler, at, 2) == alone);
    CHECK(fill_step(*assembler, at, 4) == alone);
    CHECK(fill_step(*assembler, at, 8) == alone);
  }
}

TEST_CASE("batches filled by many threads at once equal those of one thread") {
  const auto assembler = training_batches(synthetic_config());
  REQUIRE(assembler);
  constexpr std::size_t steps = 6;
  std::vector<Batch> expected, filled(steps);
  for (std::size_t step = 0; step < steps; ++step) {
    expected.push_back(fill(*assembler, {1, static_cast<std::int64_t>(step)}, {}));
    filled[step] = {std::vector<float>(expected[step].images.size()), std::vector<std::int32_t>(8)};
  }
  std::vector<std::thread> threads;
  for (std::size_t step = 0; step < steps; ++step)
    threads.emplace_back([&, step] {
      auto& batch = filled[step];
      (void)fill_into(*assembler, {1, static_cast<std::int64_t>(step)}, {}, batch.images,
                      batch.labels);
    });
  for (auto& thread : threads)
    thread.join();
  CHECK(filled == expected);
}

TEST_CASE("augmentation changes from epoch to epoch") {
  auto config = synthetic_config();
  config.data.batch_size =
      50; // the whole set, so that only the order and the augmentation can change
  const auto assembler = training_batches(config);
  REQUIRE(assembler);
  CHECK(fill(*assembler, {0, 0}, {}) != fill(*assembler, {1, 0}, {}));
  config.run.seed = 2;
  CHECK(fill(*assembler, {0, 0}, {}) != fill(*training_batches(config), {0, 0}, {}));
}

TEST_CASE("evaluation reads every test sample once, unaugmented, and pads with ignored labels") {
  auto config = synthetic_config();
  config.model.num_classes = 5;
  const auto assembler = evaluation_batches(config, 2);
  REQUIRE(assembler);
  REQUIRE(assembler->dataset().size() == 12);
  REQUIRE(assembler->sampler().steps_per_epoch() == 2); // 12 samples, 2 workers with batches of 4
  const auto first = fill_step(*assembler, {0, 0}, 2), last = fill_step(*assembler, {0, 1}, 2);
  CHECK(first.labels == std::vector<std::int32_t>{0, 1, 2, 3, 4, 0, 1, 2});
  CHECK(last.labels == std::vector<std::int32_t>{3, 4, 0, 1, -1, -1, -1, -1});
  const auto padding =
      last.images.begin() + 4 * static_cast<std::ptrdiff_t>(image_elements(*assembler));
  CHECK(std::all_of(padding, last.images.end(), [](float value) { return value == 0.0f; }));
  Bytes scratch;
  const auto image = assembler->adapter().images()->source()->read(1, scratch);
  REQUIRE(image);
  for (std::size_t i = 0; i < image_elements(*assembler); ++i) {
    const float expected = (static_cast<float>(image->pixels[i]) / 255 - 0.5f) / 0.25f;
    REQUIRE(std::abs(first.images[image_elements(*assembler) + i] - expected) < 1e-6f);
  }
}

TEST_CASE("without shuffling every epoch is in the order of the files") {
  auto config = synthetic_config();
  config.data.shuffle = false;
  const auto assembler = training_batches(config);
  REQUIRE(assembler);
  std::vector<std::int64_t> indices(8);
  for (const std::int64_t epoch : {0, 1}) {
    REQUIRE(assembler->sampler().indices({epoch, 2}, {}, indices));
    CHECK(indices == std::vector<std::int64_t>{16, 17, 18, 19, 20, 21, 22, 23});
  }
}

TEST_CASE("without drop_last the last batch is filled up with the first samples") {
  auto config = synthetic_config();
  config.data.drop_last = false;
  config.data.augment = {};
  const auto assembler = training_batches(config);
  REQUIRE(assembler);
  REQUIRE(assembler->sampler().steps_per_epoch() == 7); // 50 samples, batches of 8
  const auto first = fill(*assembler, {0, 0}, {}), last = fill(*assembler, {0, 6}, {});
  const auto two = 2 * static_cast<std::ptrdiff_t>(image_elements(*assembler));
  CHECK(std::equal(first.images.begin(), first.images.end() - two, last.images.begin() + two));
}

TEST_CASE("grey images are replicated for a model with three channels") {
  ScratchFolder folder;
  Bytes images = {0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 28, 0, 0, 0, 28};
  const auto pixels = pattern(28, 28, 1);
  images.insert(images.end(), pixels.begin(), pixels.end());
  write_bytes(folder / "train-images-idx3-ubyte", images);
  write_bytes(folder / "train-labels-idx1-ubyte", Bytes{0, 0, 8, 1, 0, 0, 0, 1, 7});
  Config config;
  config.data.dataset = "mnist";
  config.data.root = folder.path().string();
  config.data.image_size = 28;
  config.data.batch_size = 1;
  config.model.in_channels = 1;
  const auto grey = fill(*training_batches(config), {0, 0}, {});
  config.model.in_channels = 3;
  const auto colour = fill(*training_batches(config), {0, 0}, {});
  CHECK(grey.labels == std::vector<std::int32_t>{7});
  REQUIRE(colour.images.size() == 3 * grey.images.size());
  for (std::size_t i = 0; i < colour.images.size(); ++i)
    REQUIRE(colour.images[i] == grey.images[i / 3]);
}

TEST_CASE("a damaged file is named when a batch needs it") {
  ScratchFolder folder;
  write_bytes(folder / "train/a/1.jpg", Bytes{0xff, 0xd8, 0xff, 0xe0});
  Config config;
  config.data.dataset = "image_folder";
  config.data.root = folder.path().string();
  config.data.batch_size = 1;
  config.model.num_classes = 1;
  const auto assembler = training_batches(config);
  REQUIRE(assembler);
  std::vector<float> images(image_elements(*assembler));
  std::vector<std::int32_t> labels(1);
  const auto status = fill_into(*assembler, {0, 0}, {}, images, labels);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Errc::data);
  CHECK_THAT(status.error().message, Catch::Matchers::ContainsSubstring("train/a/1.jpg"));
}

TEST_CASE("a buffer fits its slice and is counted as data") {
  const auto assembler = training_batches(synthetic_config());
  REQUIRE(assembler);
  const auto device = cpu::make_host_device(0, 1);
  const Slice slice{.number = 1, .of = 4};
  const auto buffer = assembler->allocate(*device, slice);
  REQUIRE(buffer);
  CHECK(buffer->samples == 2);
  CHECK(device->memory().current[static_cast<std::size_t>(MemoryKind::data)] >=
        2 * image_elements(*assembler) * sizeof(float) + 2 * sizeof(std::int32_t));
  REQUIRE(assembler->fill({0, 3}, slice, buffer->fields()));
  const auto expected = fill(*assembler, {0, 3}, slice);
  CHECK(std::equal(expected.images.begin(), expected.images.end(), buffer->memory[0]->floats()));
  CHECK(std::equal(expected.labels.begin(), expected.labels.end(),
                   reinterpret_cast<const std::int32_t*>(buffer->memory[1]->data())));
  CHECK(assembler->allocate(*device, {.number = 2, .of = 3})->samples ==
        3); // the slices have 3, 3 and 2 samples
  CHECK_FALSE(assembler->allocate(*device, {.number = 0, .of = 9}));
}

TEST_CASE("a buffer for too few images or labels is refused") {
  const auto assembler = training_batches(synthetic_config());
  REQUIRE(assembler);
  std::vector<float> images(8 * image_elements(*assembler));
  std::vector<std::int32_t> labels(8);
  CHECK(fill_into(*assembler, {0, 0}, {}, images, labels));
  CHECK_FALSE(
      fill_into(*assembler, {0, 0}, {}, std::span{images}.first(images.size() - 1), labels));
  CHECK_FALSE(fill_into(*assembler, {0, 0}, {}, images, std::span{labels}.first(7)));
  CHECK_FALSE(fill_into(*assembler, {0, 6}, {}, images, labels));
}
