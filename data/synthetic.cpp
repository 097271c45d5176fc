#include "core/fail.hpp"
#include "core/sha256.hpp"
#include "data/formats.hpp"
#include "data/keys.hpp"
#include "data/normalization.hpp"

#include <algorithm>
#include <array>

namespace troupe::data {

namespace {

constexpr std::uint64_t seed =
    0x74726f757065u;            // the same images in every run, regardless of run.seed
constexpr std::size_t grid = 8; // cells per side of a class's pattern

std::vector<std::int32_t> labels_for(const SyntheticOptions& options) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(options.samples));
  for (std::int64_t i = 0; i < options.samples; ++i)
    labels[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % options.classes);
  return labels;
}

ImageInfo synthetic_info(const SyntheticOptions& options) {
  ImageInfo info{.name = "synthetic",
                 .source = "synthetic",
                 .class_names = {},
                 .channels = options.channels,
                 .normalization = default_normalization("synthetic")};
  for (std::int64_t i = 0; i < options.classes; ++i)
    info.class_names.push_back(fmt::format("class {}", i));
  return info;
}

class SyntheticImages : public ImageDataset {
public:
  SyntheticImages(const SyntheticOptions& options, Split split)
      : ImageDataset{synthetic_info(options), labels_for(options)},
        noise_key_{epoch_key(seed, Draw::synthetic_noise, static_cast<std::int64_t>(split))},
        size_{static_cast<std::size_t>(options.image_size)}, channels_{static_cast<std::size_t>(
                                                                 options.channels)} {
    const auto cells = grid * grid * channels_;
    patterns_.resize(static_cast<std::size_t>(options.classes) * cells);
    CounterRng rng{epoch_key(seed, Draw::synthetic_class, 0), 0};
    for (auto& cell : patterns_)
      cell = static_cast<std::uint8_t>(rng.below(128));
  }

  std::optional<Extent> extent() const override {
    return Extent{static_cast<int>(size_), static_cast<int>(size_)};
  }

  Result<ImageView> read(std::int64_t index, std::vector<std::uint8_t>& scratch) const override {
    scratch.resize(size_ * size_ * channels_);
    fill_noise(static_cast<std::uint64_t>(index), scratch);
    const auto* pattern =
        patterns_.data() + static_cast<std::size_t>(label(index)) * grid * grid * channels_;
    auto* pixel = scratch.data();
    for (std::size_t y = 0; y < size_; ++y)
      for (std::size_t x = 0; x < size_; ++x) {
        const auto* cell = pattern + ((y * grid / size_) * grid + x * grid / size_) * channels_;
        for (std::size_t c = 0; c < channels_; ++c, ++pixel)
          *pixel = static_cast<std::uint8_t>(cell[c] + (*pixel >> 1)); // both are below 128
      }
    const auto side = static_cast<int>(size_);
    return ImageView{scratch, side, side, info().channels};
  }

private:
  /// Labels take turns, so the samples that are spread over the classes are the first ones.
  void keep(std::span<const std::int64_t>) override {}

  /// Adds the values that determine the images, in addition to the labels.
  void add_pixels(Sha256& sha) const override {
    const std::array<std::uint64_t, 3> content = {size_, channels_, noise_key_};
    sha.update(std::as_bytes(std::span{content}));
  }

  /// Uses four bytes of each generated word.
  void fill_noise(std::uint64_t sample, std::span<std::uint8_t> bytes) const {
    CounterRng rng{noise_key_, sample};
    for (std::size_t i = 0; i < bytes.size(); i += 4) {
      const auto word = rng.next();
      for (std::size_t j = 0; j < std::min<std::size_t>(4, bytes.size() - i); ++j)
        bytes[i + j] = static_cast<std::uint8_t>(word >> (8 * j));
    }
  }

  std::uint64_t noise_key_;
  std::size_t size_, channels_;
  std::vector<std::uint8_t> patterns_; ///< (class, grid, grid, channels), 0 to 127
};

} // namespace

Result<std::shared_ptr<ImageDataset>> open_synthetic(const SyntheticOptions& options, Split split) {
  if (options.samples < 1 || options.classes < 1 || options.image_size < 1 || options.channels < 1)
    return fail(
        Errc::invalid_input,
        "a synthetic data set needs samples, classes, size and channels of 1 or more; found "
        "{}, {}, {}, {}",
        options.samples, options.classes, options.image_size, options.channels);
  return std::make_shared<SyntheticImages>(options, split);
}

} // namespace troupe::data
