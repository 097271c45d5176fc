/// Images as a model takes them: augmented and normalized, with their labels.
#pragma once

#include "data/adapter.hpp"
#include "data/augment.hpp"
#include "data/image_dataset.hpp"
#include "data/unreadable.hpp"

namespace troupe::data {

/// Fields: images f32 (image_size, image_size, channels), labels i32. Padding is zeros, and -1.
class ImageAdapter final : public Adapter {
public:
  /// With `unreadable`, an image that cannot be read is noted there and ends nothing. In training
  /// the next one of the set that can be read stands for it, with its label, augmented as the
  /// missing one would have been; in evaluation padding, which counts in no loss. Both follow from
  /// the sample alone, for any number of workers and threads.
  ImageAdapter(ImageDatasetPtr source, const AugmentOptions& augment, Split split = Split::train,
               std::shared_ptr<UnreadableFiles> unreadable = nullptr);

  /// More files in a row that cannot be read are a disk that is gone, not a few damaged files.
  static constexpr std::int64_t most_in_a_row = 100;

  const Dataset& dataset() const override { return *source_; }
  std::string_view sample_name() const override { return "images"; }
  Status fill(std::span<const std::int64_t> samples, std::int64_t epoch, Fields to) const override;
  const ImageAdapter* images() const override { return this; }
  std::shared_ptr<UnreadableFiles> unreadable() const override { return unreadable_; }
  std::shared_ptr<FileNotes> damaged() const override { return damaged_; }

  const ImageDatasetPtr& source() const { return source_; }
  const Augment& augment() const { return augment_; }

private:
  /// An image, and the sample that it is of; below 0: none, but padding.
  struct Read {
    std::int64_t sample = -1;
    ImageView image = {};
  };
  /// An image of the data set; if its file is damaged, that is noted.
  Result<ImageView> read_file(std::int64_t sample, std::vector<std::uint8_t>& pixels) const;
  Result<Read> read(std::int64_t sample, std::vector<std::uint8_t>& pixels) const;
  Result<Read> read_next(std::int64_t sample, const Error& error,
                         std::vector<std::uint8_t>& pixels) const;

  ImageDatasetPtr source_;
  Augment augment_;
  Split split_;
  std::shared_ptr<UnreadableFiles> unreadable_;
  std::shared_ptr<FileNotes> damaged_;
};

/// The images as the config asks for them: augmented where the split is for training.
Result<AdapterPtr> adapt_images(ImageDatasetPtr images, const Config& config, Split split);

/// Whether a device may augment itself: images in memory, all of one size, without antialiasing.
bool may_augment_on_device(const Adapter& adapter);

} // namespace troupe::data
