/// Images as a model takes them: augmented and normalized, with their labels.
#pragma once

#include "adapter.hpp"
#include "augment.hpp"
#include "image_dataset.hpp"

namespace troupe::data {

/// Fields: images f32 (image_size, image_size, channels), labels i32. Padding is zeros, and -1.
class ImageAdapter final : public Adapter {
public:
  ImageAdapter(ImageDatasetPtr source, const AugmentOptions& augment);

  const Dataset& dataset() const override { return *source_; }
  std::string_view sample_name() const override { return "images"; }
  Status fill(std::span<const std::int64_t> samples, std::int64_t epoch, Fields to) const override;
  const ImageAdapter* images() const override { return this; }

  const ImageDatasetPtr& source() const { return source_; }
  const Augment& augment() const { return augment_; }

private:
  ImageDatasetPtr source_;
  Augment augment_;
};

/// The images as the config asks for them: augmented where the split is for training.
Result<AdapterPtr> adapt_images(ImageDatasetPtr images, const Config& config, Split split);

/// What a device may augment itself.
bool has_images_of_one_size(const Adapter& adapter);

} // namespace troupe::data
