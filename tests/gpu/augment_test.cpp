// Compares the augmentation kernel with the host's augmentation.
#include "data/augment.hpp"
#include "data/keys.hpp"
#include "gpu/kernels/augment.hpp"
#include "tests/gpu/reference.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstring>

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::testing;

namespace {

struct Setting {
  Extent source;
  int source_channels, image_size, channels, stored_channels;
  bool crop, flip;
};

constexpr int samples = 9;
constexpr std::int64_t epoch = 3;

template <class T>
Floats as_floats(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

/// Returns the host's images of the same samples, with the padded channels.
Floats expected_images(const Setting& s, const data::Augment& augment,
                       const std::vector<std::uint8_t>& pixels,
                       const std::vector<std::int64_t>& indices) {
  const auto bytes = pixels.size() / samples,
             area = static_cast<std::size_t>(s.image_size) * static_cast<std::size_t>(s.image_size);
  const auto channels = static_cast<std::size_t>(s.channels),
             stored = static_cast<std::size_t>(s.stored_channels);
  Floats images(indices.size() * area * stored), image(augment.elements());
  data::AugmentScratch scratch;
  for (std::size_t n = 0; n < indices.size(); ++n) {
    if (indices[n] < 0)
      continue;
    const auto* const first = pixels.data() + static_cast<std::size_t>(indices[n]) * bytes;
    augment.apply({{first, bytes}, s.source.height, s.source.width, s.source_channels},
                  augment.window(s.source, epoch, indices[n]), image.data(), scratch);
    for (std::size_t at = 0; at < area; ++at)
      for (std::size_t c = 0; c < channels; ++c)
        images[(n * area + at) * stored + c] = image[at * channels + c];
  }
  return images;
}

} // namespace

TEST_CASE_METHOD(GpuFixture, "augmented batches match the host's for every element type") {
  const std::vector<Setting> settings = {
      {{32, 32}, 3, 32, 3, 3, true, true},  {{32, 32}, 3, 32, 3, 4, true, true},
      {{32, 32}, 3, 56, 3, 4, true, true},  {{28, 28}, 1, 32, 3, 4, false, true},
      {{28, 28}, 1, 28, 1, 1, true, false}, {{20, 30}, 3, 24, 3, 4, false, false},
      {{30, 20}, 3, 21, 3, 3, true, true},
  };
  const std::vector<std::int64_t> indices = {4, 0, 8, -1, 4, 7};
  for (const auto& s : settings) {
    const data::AugmentOptions options{
        .image_size = s.image_size,
        .channels = s.channels,
        .crop = s.crop,
        .flip = s.flip,
        .seed = 5,
        .normalization = {{0.49f, 0.48f, 0.45f}, {0.25f, 0.24f, 0.26f}}};
    const data::Augment augment{options};
    std::vector<std::uint8_t> pixels(
        static_cast<std::size_t>(samples * s.source.height * s.source.width * s.source_channels));
    CounterRng random{9, 0};
    for (auto& pixel : pixels)
      pixel = static_cast<std::uint8_t>(random.below(256));
    const auto expected = expected_images(s, augment, pixels, indices);
    Floats labels, wanted_labels;
    for (int i = 0; i < samples; ++i)
      labels.push_back(static_cast<float>(i * 3));
    for (const auto index : indices)
      wanted_labels.push_back(index < 0 ? -1.0f : static_cast<float>(index * 3));

    const auto index_memory =
        device().allocate(indices.size() * sizeof(std::int64_t), MemoryKind::data).value();
    device().copy(stream(), index_memory->data(), indices.data(), index_memory->bytes());
    const auto key = data::epoch_key(options.seed, data::Draw::augment, epoch);
    const auto key_memory = device().allocate(sizeof key, MemoryKind::data).value();
    device().copy(stream(), key_memory->data(), &key, sizeof key);
    REQUIRE(stream().synchronize());
    const auto centre = data::Augment{{.image_size = s.image_size}}.window(s.source, 0, 0);

    for (const auto dtype : {DType::f32, DType::f16, DType::bf16}) {
      AugmentBatch batch{
          .pixels = static_cast<const std::uint8_t*>(upload(as_floats(pixels), DType::u8)),
          .labels = static_cast<const std::int32_t*>(upload(labels, DType::i32)),
          .indices = reinterpret_cast<const std::int64_t*>(index_memory->data()),
          .key = reinterpret_cast<const std::uint64_t*>(key_memory->data()),
          .batch = static_cast<int>(indices.size()),
          .source = s.source,
          .source_channels = s.source_channels,
          .image_size = s.image_size,
          .channels = s.channels,
          .stored_channels = s.stored_channels,
          .crop = s.crop,
          .flip = s.flip,
          .padding = options.padding(),
          .centre = centre,
          .dtype = dtype,
          .images = room(expected.size(), dtype),
          .batch_labels = static_cast<std::int32_t*>(room(indices.size(), DType::i32))};
      for (std::size_t c = 0; c < 3; ++c) {
        batch.scale[c] = 1.0f / (255.0f * options.normalization.deviation[c]);
        batch.shift[c] = -options.normalization.mean[c] / options.normalization.deviation[c];
      }
      launch_augment(handle(), batch);
      require_near(download(batch.images, expected.size(), dtype), expected, tolerance(dtype),
                   "images of " + std::to_string(s.image_size));
      REQUIRE(download(batch.batch_labels, indices.size(), DType::i32) == wanted_labels);
    }
  }
}
