#include "adapter.hpp"

#include "image_adapter.hpp"
#include "table_adapter.hpp"
#include "troupe/core/config/config.hpp"

namespace troupe::data {

namespace {

Result<AdapterPtr> open_image_adapter(const Config& config, Split split) {
  auto images = open_images(config.data, config.model, split);
  if (!images)
    return failure(std::move(images).error());
  const auto augment =
      augment_options(config.data, config.model, (*images)->info(), split, config.run.seed);
  if (!augment)
    return failure(augment.error());
  return std::make_shared<const ImageAdapter>(std::move(*images), *augment);
}

Result<AdapterPtr> open_table_adapter(const Config& config, Split split) {
  auto table = open_csv(config.data, config.model, split);
  if (!table)
    return failure(std::move(table).error());
  return std::make_shared<const TableAdapter>(std::move(*table));
}

} // namespace

Result<AdapterPtr> open_adapter(const Config& config, Split split) {
  return config.data.dataset == "csv" ? open_table_adapter(config, split)
                                      : open_image_adapter(config, split);
}

} // namespace troupe::data
