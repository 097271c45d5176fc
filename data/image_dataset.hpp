/// Labelled images whose pixels any thread can read by index.
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

/// Pixels of one image (HWC), densely packed, 0 to 255.
struct ImageView {
  std::span<const std::uint8_t> pixels;
  int height = 0;
  int width = 0;
  int channels = 0;        ///< 1 (grey) or 3 (red, green, blue)
  std::string damage = {}; ///< damage of the file, with its name, if it was read nevertheless
};

struct ImageInfo {
  std::string name;                     ///< name in the config: "cifar10"
  std::string source;                   ///< folder that it was read from, for messages
  std::vector<std::string> class_names; ///< by label
  int channels = 3;                     ///< channels of every image
  Normalization normalization = {};     ///< default for this data set
};

class ImageDataset : public Dataset {
public:
  std::string_view name() const override { return info_.name; }
  const std::vector<std::string>& class_names() const override { return info_.class_names; }
  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }

  const ImageInfo& info() const { return info_; }
  std::int64_t num_classes() const { return static_cast<std::int64_t>(info_.class_names.size()); }
  /// Returns a label in [0, num_classes()). `index` must be in [0, size()).
  std::int32_t label(std::int64_t index) const { return labels_[static_cast<std::size_t>(index)]; }

  /// Returns the pixels of sample `index`. They are in the data set, or in `scratch`, which must
  /// then outlive the view. Errors: Errc::io or Errc::data, naming the file, if an image is decoded
  /// here.
  virtual Result<ImageView> read(std::int64_t index, std::vector<std::uint8_t>& scratch) const = 0;

  /// Returns the height and width of every image; nothing if they differ.
  virtual std::optional<Extent> extent() const { return std::nullopt; }

  /// Removes all but `count` samples, spread over the classes (data.limit). Call it only before the
  /// set is shared.
  void keep_spread(std::int64_t count);

protected:
  /// Removes all elements except those at `places`, which are ascending.
  template <class T>
  static void keep_only(std::vector<T>& elements, std::span<const std::int64_t> places) {
    std::size_t kept = 0;
    for (const auto place : places) {
      if (const auto from = static_cast<std::size_t>(place); from != kept)
        elements[kept] = std::move(elements[from]);
      ++kept;
    }
    elements.resize(kept);
  }

  ImageDataset(ImageInfo info, std::vector<std::int32_t> labels)
      : info_{std::move(info)}, labels_{std::move(labels)} {}

private:
  /// Removes the data of all samples except these, which are ascending.
  virtual void keep(std::span<const std::int64_t> samples) = 0;
  void add_content(Sha256& sha) const final;
  /// Adds the first size() samples to the fingerprint: all pixels if they are in memory. An image
  /// folder adds the names of all files and the sizes of at most 4096 of them, because reading all
  /// files takes too long.
  virtual void add_pixels(Sha256& sha) const = 0;

  ImageInfo info_;
  std::vector<std::int32_t> labels_;
};
using ImageDatasetPtr = std::shared_ptr<const ImageDataset>;

/// Opens the image data set that the config names and checks that it fits the model. data.limit
/// applies to Split::train. Errors (Errc::data, exit code 2): missing, truncated or inconsistent
/// files, labels out of range, or a number of classes or channels that differs from the model's.
/// Each names the file, the expected and the found value, and the remedy.
Result<ImageDatasetPtr> open_images(const DataConfig& data, const ModelConfig& model, Split split);

/// Checks that an open data set fits the model and applies data.limit; open_images calls it.
/// Errors: Errc::data if the model's classes or channels differ from the set's. Grey images fit a
/// model of 3 channels: they are replicated.
Result<ImageDatasetPtr> fit_images(std::shared_ptr<ImageDataset> dataset, const DataConfig& data,
                                   const ModelConfig& model, Split split);

} // namespace troupe::data
