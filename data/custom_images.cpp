#include "data/custom_images.hpp"

#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "data/detail/memory_images.hpp"
#include "data/image_adapter.hpp"

#include <algorithm>

namespace troupe::data {

Result<std::shared_ptr<ImageDataset>> images_in_memory(ImageInfo info,
                                                       std::vector<std::int32_t> labels,
                                                       std::vector<std::uint8_t> pixels,
                                                       Extent extent) {
  const auto expected = labels.size() * static_cast<std::size_t>(extent.height) *
                        static_cast<std::size_t>(extent.width) *
                        static_cast<std::size_t>(info.channels);
  if (pixels.size() != expected)
    return fail(Errc::data, "{} ({}): {} images of {} x {} x {} have {} bytes of pixels, found {}",
                info.name, info.source, labels.size(), extent.height, extent.width, info.channels,
                expected, pixels.size());
  const auto classes = static_cast<std::int32_t>(info.class_names.size());
  const auto wrong = std::ranges::find_if(
      labels, [classes](std::int32_t label) { return label < 0 || label >= classes; });
  if (wrong != labels.end())
    return fail(Errc::data, "{} ({}): image {} has label {}, expected 0 to {}", info.name,
                info.source, wrong - labels.begin(), *wrong, classes - 1);
  return std::make_shared<MemoryImages>(std::move(info), std::move(labels), std::move(pixels),
                                        extent.height, extent.width);
}

Result<AdapterPtr> open_custom_images(std::shared_ptr<ImageDataset> images, const Config& config,
                                      Split split) {
  TROUPE_TRY(auto fitting, fit_images(std::move(images), config.data, config.model, split));
  return adapt_images(std::move(fitting), config, split);
}

} // namespace troupe::data
