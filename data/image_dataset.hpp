/// Labelled images whose pixels can be read by index, from any thread.
#pragma once

#include "core/config/forward.hpp"
#include "core/device/augment_math.hpp"
#include "core/error.hpp"
#include "data/dataset.hpp"
#include "data/normalization.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::data {

/// Pixels of one image: rows of columns of channels (HWC), densely packed, 0 to 255.
struct ImageView {
  std::span<const std::uint8_t> pixels;
  int height = 0;
  int width = 0;
  int channels = 0;        ///< 1 (grey) or 3 (red, green, blue)
  std::string damage = {}; ///< of its file, which it names and which was read all the same
};

struct ImageInfo {
  std::string name;                     ///< as in the config: "cifar10"
  std::string source;                   ///< the folder it was read from, for messages
  std::vector<std::string> class_names; ///< by label
  int channels = 3;                     ///< of every image
  Normalization normalization = {};     ///< usual for it
};

class ImageDataset : public Dataset {
public:
  std::string_view name() const override { return info_.name; }
  const std::vector<std::string>& class_names() const override { return info_.class_names; }
  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }

  const ImageInfo& info() const { return info_; }
  std::int64_t num_classes() const { return static_cast<std::int64_t>(info_.class_names.size()); }
  /// In [0, num_classes()). `index` must be in [0, size()).
  std::int32_t label(std::int64_t index) const { return labels_[static_cast<std::size_t>(index)]; }

  /// Pixels of sample `index`. They live in the data set, or in `scratch`, which must then outlive
  /// the view. Errors: Errc::io or Errc::data, naming the file, when an image is decoded here.
  virtual Result<ImageView> read(std::int64_t index, std::vector<std::uint8_t>& scratch) const = 0;

  /// Height and width of every image; empty where they differ.
  virtual std::optional<Extent> extent() const { return std::nullopt; }

  /// Forgets all but `count` samples, spread over the classes (data.limit). Only before the set is
  /// shared.
  void keep_spread(std::int64_t count);

protected:
  ImageDataset(ImageInfo info, std::vector<std::int32_t> labels)
      : info_{std::move(info)}, labels_{std::move(labels)} {}

private:
  /// Forgets what belongs to all samples but these, which are ascending.
  virtual void keep(std::span<const std::int64_t> samples) = 0;
  void add_content(Sha256& sha) const final;
  /// Of the first size() samples, for the fingerprint: all pixels where they are in memory; of an
  /// image folder the names of all files, and the sizes of up to 4096 of them, as reading them
  /// would take too long.
  virtual void add_pixels(Sha256& sha) const = 0;

  ImageInfo info_;
  std::vector<std::int32_t> labels_;
};
using ImageDatasetPtr = std::shared_ptr<const ImageDataset>;

/// Opens the data set of images that the config names and checks that it fits the model. data.limit
/// applies to Split::train. Errors (Errc::data, exit code 2): missing, truncated or inconsistent
/// files, labels out of range, a number of classes or channels that is not the model's. Each names
/// the file, what was expected and found, and what to do.
Result<ImageDatasetPtr> open_images(const DataConfig& data, const ModelConfig& model, Split split);

/// What open_images does with a set that it has opened. Errors: of check_fits_model.
Result<ImageDatasetPtr> fit_images(std::shared_ptr<ImageDataset> dataset, const DataConfig& data,
                                   const ModelConfig& model, Split split);

/// Errc::data unless the model has as many classes as the set, and takes its channels. Grey images
/// fit a model of 3 channels: they are replicated.
Status check_fits_model(const ImageDataset& dataset, const ModelConfig& model);

} // namespace troupe::data
