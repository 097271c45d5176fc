/// From a stored image to a model's input: resize, random crop, random flip, normalize.
///
/// Meaning (torchvision): Resize(image_size, bilinear, antialias=False) on float pixels when the
/// shorter side is not image_size; RandomCrop(image_size, padding) with zero pixels around, or
/// CenterCrop; RandomHorizontalFlip; (pixel / 255 - mean) / deviation. Not rounded in between, and
/// all in one pass.
///
/// Where the config asks for resized_crop or eval_resize: RandomResizedCrop(image_size), or, in
/// evaluation, Resize(eval_resize) and CenterCrop(image_size), with antialias=True (resample.hpp).
#pragma once

#include "core/device/augment_math.hpp"
#include "data/resample.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::data {

struct AugmentOptions {
  int image_size = 32; ///< height and width of the output
  int channels = 3;    ///< of the output; grey images are replicated to 3
  bool crop = false;   ///< random crop with `padding()` zero pixels around; else from the centre
  bool flip = false;   ///< mirrored with probability one half
  bool resized_crop = false; ///< a random box of the image, resized
  /// Without resized_crop, where `resampled`: the shorter side, of which the centre is cut out.
  int resize = 32;
  bool resampled = false; ///< images are resized with antialiasing
  bool host_only = false; ///< no device augments, as some split's images are resampled
  std::uint64_t seed = 1;
  Normalization normalization = {};

  /// 4 for 32 pixels, as is usual for CIFAR-10; in proportion for other sizes.
  int padding() const { return image_size / 8; }
};

/// Options for a split: crop, resized_crop and flip are for training only, eval_resize for
/// evaluation. Errors: an unknown name in data.augment.
Result<AugmentOptions> augment_options(const DataConfig& data, const ModelConfig& model,
                                       const ImageInfo& info, Split split, std::uint64_t seed);

/// Memory that one thread reuses from image to image.
struct AugmentScratch {
  std::vector<std::uint8_t> bytes;
  std::vector<float> rows;
  std::vector<ResizeTap> columns, column_axis, row_axis;
  Extent axis_source, axis_target; ///< what column_axis and row_axis were made for
  ResampleScratch resample;
};

/// Immutable; thread-safe with one scratch per thread.
class Augment {
public:
  explicit Augment(const AugmentOptions& options);

  const AugmentOptions& options() const { return options_; }
  /// Floats of one output image.
  std::size_t elements() const {
    return scale_.size() * static_cast<std::size_t>(options_.image_size);
  }

  /// Writes the normalized image (H, W, C) to `destination`, elements() floats, with the random
  /// choice for a sample, which depends on (seed, epoch, sample) and the image's size alone.
  void make(const ImageView& image, std::int64_t epoch, std::int64_t sample, float* destination,
            AugmentScratch& scratch) const;

  /// The choice, and what is made with it, without antialiasing.
  Window window(Extent source, std::int64_t epoch, std::int64_t sample) const;
  void apply(const ImageView& image, const Window& window, float* destination,
             AugmentScratch& scratch) const;
  /// The same with antialiasing.
  Cut cut(Extent source, std::int64_t epoch, std::int64_t sample) const;
  void apply(const ImageView& image, const Cut& cut, float* destination,
             AugmentScratch& scratch) const;

private:
  void copy_rows(const ImageView&, const Window&, float* destination, AugmentScratch&) const;
  void resize_rows(const ImageView&, const Window&, Extent, float* destination,
                   AugmentScratch&) const;

  AugmentOptions options_;
  std::vector<float> scale_, shift_; ///< one output row: value = pixel·scale + shift
};

} // namespace troupe::data
