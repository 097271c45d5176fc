/// Converts images to a model's input: augmented and normalized, with their labels.
#pragma once

#include "data/adapter.hpp"
#include "data/augment.hpp"
#include "data/file_notes.hpp"
#include "data/image_dataset.hpp"

namespace troupe::data {

/// Fields: images f32 (image_size, image_size, channels), labels i32. Padding has zero pixels and
/// label -1.
class ImageAdapter final : public Adapter {
public:
  /// If `unreadable` is set, an image that cannot be read is noted there and does not stop the run.
  /// In training, the next readable image of the set replaces it, with that image's label and the
  /// augmentation of the unreadable sample. In evaluation, padding replaces it, which no loss
  /// counts. Both depend only on the sample, for any number of workers and threads.
  ImageAdapter(ImageDatasetPtr source, const AugmentOptions& augment, Split split = Split::train,
               std::shared_ptr<FileNotes> unreadable = nullptr);

  /// More unreadable files in a row mean that the disk is gone, not that a few files are damaged.
  static constexpr std::int64_t most_in_a_row = 100;

  const Dataset& dataset() const override { return *source_; }
  std::string_view sample_name() const override { return "images"; }
  Status fill(std::span<const std::int64_t> samples, std::int64_t epoch, Fields to) const override;
  const ImageAdapter* images() const override { return this; }
  std::shared_ptr<FileNotes> unreadable() const override { return unreadable_; }
  std::shared_ptr<FileNotes> damaged() const override { return damaged_; }

  const ImageDatasetPtr& source() const { return source_; }
  const Augment& augment() const { return augment_; }

private:
  /// An image and its sample; a sample below 0 means padding.
  struct Read {
    std::int64_t sample = -1;
    ImageView image = {};
  };
  /// Reads an image of the data set and notes its file if it is damaged.
  Result<ImageView> read_file(std::int64_t sample, std::vector<std::uint8_t>& pixels) const;
  Result<Read> read(std::int64_t sample, std::vector<std::uint8_t>& pixels) const;
  Result<Read> read_next(std::int64_t sample, const Error& error,
                         std::vector<std::uint8_t>& pixels) const;

  ImageDatasetPtr source_;
  Augment augment_;
  Split split_;
  std::shared_ptr<FileNotes> unreadable_, damaged_;
};

/// Returns an adapter for images as the config sets it. Only Split::train is augmented.
AdapterPtr adapt_images(ImageDatasetPtr images, const Config& config, Split split);

/// Returns whether a device may augment the images itself. They must be in memory, have one size
/// and need no antialiasing.
bool may_augment_on_device(const Adapter& adapter);

} // namespace troupe::data
