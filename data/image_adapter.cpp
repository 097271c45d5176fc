#include "image_adapter.hpp"

#include "troupe/core/config/config.hpp"
#include "troupe/core/fail.hpp"

#include <algorithm>

namespace troupe::data {

namespace {

std::vector<Field> fields_of(const AugmentOptions& augment) {
  return {{"images", DType::f32, {augment.image_size, augment.image_size, augment.channels}},
          {"labels", DType::i32, {}}};
}

} // namespace

ImageAdapter::ImageAdapter(ImageDatasetPtr source, const AugmentOptions& augment)
    : Adapter{fields_of(augment)}, source_{std::move(source)}, augment_{augment} {}

Status ImageAdapter::fill(std::span<const std::int64_t> samples, std::int64_t epoch,
                          Fields to) const {
  AugmentScratch scratch;
  std::vector<std::uint8_t> pixels;
  auto* image = reinterpret_cast<float*>(to[0].data());
  auto* label = reinterpret_cast<std::int32_t*>(to[1].data());
  for (const auto index : samples) {
    if (index < 0) {
      std::fill_n(image, augment_.elements(), 0.0f);
      *label = -1;
    } else {
      TROUPE_TRY(const auto read, source_->read(index, pixels));
      const auto window = augment_.window({read.height, read.width}, epoch, index);
      augment_.apply(read, window, image, scratch);
      *label = source_->label(index);
    }
    image += augment_.elements();
    ++label;
  }
  return {};
}

Result<AdapterPtr> adapt_images(ImageDatasetPtr images, const Config& config, Split split) {
  TROUPE_TRY(const auto augment,
             augment_options(config.data, config.model, images->info(), split, config.run.seed));
  return std::make_shared<const ImageAdapter>(std::move(images), augment);
}

bool has_images_of_one_size(const Adapter& adapter) {
  const auto* const images = adapter.images();
  return images && images->source()->extent();
}

} // namespace troupe::data
