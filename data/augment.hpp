/// Converts a stored image to a model's input: resize, random crop, random flip, normalize.
///
/// The result is that of torchvision's transforms: Resize(image_size, bilinear, antialias=False) on
/// float pixels if the shorter side is not image_size; RandomCrop(image_size, padding) with zero
/// pixels as padding, or CenterCrop; RandomHorizontalFlip; (pixel / 255 - mean) / deviation. All
/// steps run in one pass without intermediate rounding.
///
/// If the config sets resized_crop or eval_resize, the first steps are
/// RandomResizedCrop(image_size), or, in evaluation, Resize(eval_resize) and
/// CenterCrop(image_size), with antialias=True (resample.hpp).
#pragma once

#include "core/device/augment_math.hpp"
#include "data/resample.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::data {

struct AugmentOptions {
  int image_size = 32; ///< height and width of the output
  int channels = 3;    ///< channels of the output; grey images are replicated to 3
  bool crop = false;   ///< random crop with `padding()` zero pixels around; false: centre crop
  bool flip = false;   ///< mirrors with probability one half
  bool resized_crop = false; ///< resizes a random box of the image
  /// Length of the shorter side before the centre crop. Used if `resampled` is set and resized_crop
  /// is not.
  int resize = 32;
  bool resampled = false; ///< resizes images with antialiasing
  bool host_only = false; ///< no device augments, because the images of some split are resampled
  std::uint64_t seed = 1;
  Normalization normalization = {};

  /// 4 for 32 pixels, the default for CIFAR-10; proportional for other sizes.
  int padding() const { return image_size / 8; }
};

/// Returns the options for a split. crop, resized_crop and flip apply only to training, eval_resize
/// only to evaluation.
AugmentOptions augment_options(const DataConfig& data, const ModelConfig& model,
                               const ImageInfo& info, Split split, std::uint64_t seed);

/// Memory that one thread reuses for all images.
struct AugmentScratch {
  std::vector<std::uint8_t> bytes;
  std::vector<float> rows;
  std::vector<ResizeTap> columns, column_axis, row_axis;
  Extent axis_source, axis_target; ///< sizes that column_axis and row_axis were computed for
  ResampleScratch resample;
};

/// Immutable; thread-safe with one scratch per thread.
class Augment {
public:
  explicit Augment(const AugmentOptions& options);

  const AugmentOptions& options() const { return options_; }
  /// Returns the number of floats in one output image.
  std::size_t elements() const {
    return scale_.size() * static_cast<std::size_t>(options_.image_size);
  }

  /// Writes the normalized image (H, W, C) to `destination`, which has room for elements() floats.
  /// The random choices depend only on (seed, epoch, sample) and the image's size.
  void make(const ImageView& image, std::int64_t epoch, std::int64_t sample, float* destination,
            AugmentScratch& scratch) const;

  /// window() draws the crop and flip of a sample without antialiasing; apply() writes the image
  /// with them.
  Window window(Extent source, std::int64_t epoch, std::int64_t sample) const;
  void apply(const ImageView& image, const Window& window, float* destination,
             AugmentScratch& scratch) const;
  /// The same as window() and its apply(), with antialiasing.
  Cut cut(Extent source, std::int64_t epoch, std::int64_t sample) const;
  void apply(const ImageView& image, const Cut& cut, float* destination,
             AugmentScratch& scratch) const;

private:
  void copy_rows(const ImageView&, const Window&, float* destination, AugmentScratch&) const;
  void resize_rows(const ImageView&, const Window&, Extent, float* destination,
                   AugmentScratch&) const;

  AugmentOptions options_;
  std::vector<float> scale_, shift_; ///< for one output row: value = pixel·scale + shift
};

} // namespace troupe::data
