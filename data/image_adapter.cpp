#include "data/image_adapter.hpp"

#include "core/config/config.hpp"
#include "core/fail.hpp"

#include <algorithm>

namespace troupe::data {

namespace {

std::vector<Field> fields_of(const AugmentOptions& augment) {
  return {{"images", DType::f32, {augment.image_size, augment.image_size, augment.channels}},
          {"labels", DType::i32, {}}};
}

} // namespace

ImageAdapter::ImageAdapter(ImageDatasetPtr source, const AugmentOptions& augment, Split split,
                           std::shared_ptr<FileNotes> unreadable)
    : Adapter{fields_of(augment)}, source_{std::move(source)}, augment_{augment}, split_{split},
      unreadable_{std::move(unreadable)}, damaged_{damaged_files()} {}

Status ImageAdapter::fill(std::span<const std::int64_t> samples, std::int64_t epoch,
                          Fields to) const {
  AugmentScratch scratch;
  std::vector<std::uint8_t> pixels;
  auto* image = reinterpret_cast<float*>(to[0].data());
  auto* label = reinterpret_cast<std::int32_t*>(to[1].data());
  for (const auto index : samples) {
    Read found;
    if (index >= 0) {
      TROUPE_TRY(found, read(index, pixels));
    }
    if (found.sample < 0) {
      std::fill_n(image, augment_.elements(), 0.0f);
      *label = -1;
    } else {
      augment_.make(found.image, epoch, index, image, scratch);
      *label = source_->label(found.sample);
    }
    image += augment_.elements();
    ++label;
  }
  return {};
}

AdapterPtr adapt_images(ImageDatasetPtr images, const Config& config, Split split) {
  const auto augment =
      augment_options(config.data, config.model, images->info(), split, config.run.seed);
  auto unreadable = config.data.skip_unreadable ? unreadable_files() : nullptr;
  return std::make_shared<const ImageAdapter>(std::move(images), augment, split,
                                              std::move(unreadable));
}

Result<ImageView> ImageAdapter::read_file(std::int64_t sample,
                                          std::vector<std::uint8_t>& pixels) const {
  auto image = source_->read(sample, pixels);
  if (image && !image->damage.empty())
    damaged_->add(sample, image->damage);
  return image;
}

Result<ImageAdapter::Read> ImageAdapter::read(std::int64_t sample,
                                              std::vector<std::uint8_t>& pixels) const {
  auto image = read_file(sample, pixels);
  if (image)
    return Read{sample, *std::move(image)};
  if (!unreadable_ || (image.error().code != Errc::data && image.error().code != Errc::io))
    return failure(std::move(image).error());
  unreadable_->add(sample, image.error().message);
  if (split_ == Split::test)
    return Read{};
  return read_next(sample, image.error(), pixels);
}

Result<ImageAdapter::Read> ImageAdapter::read_next(std::int64_t sample, const Error& error,
                                                   std::vector<std::uint8_t>& pixels) const {
  const auto others = std::min(most_in_a_row, source_->size()) - 1;
  for (std::int64_t i = 1; i <= others; ++i) {
    const auto next = (sample + i) % source_->size();
    if (auto image = read_file(next, pixels))
      return Read{next, *std::move(image)};
  }
  return fail(error.code, "{}; the next {} file{} cannot be read either", error.message, others,
              others == 1 ? "" : "s");
}

bool may_augment_on_device(const Adapter& adapter) {
  const auto* const images = adapter.images();
  return images && images->source()->extent() && !images->augment().options().host_only;
}

} // namespace troupe::data
