#include "adapter.hpp"

#include "image_adapter.hpp"
#include "table_adapter.hpp"
#include "troupe/core/config/config.hpp"
#include "troupe/core/config/data_sets.hpp"
#include "troupe/core/fail.hpp"

namespace troupe::data {

namespace {

Result<AdapterPtr> open_image_adapter(const Config& config, Split split) {
  TROUPE_TRY(auto images, open_images(config.data, config.model, split));
  TROUPE_TRY(const auto augment,
             augment_options(config.data, config.model, images->info(), split, config.run.seed));
  auto unreadable = config.data.skip_unreadable ? std::make_shared<UnreadableFiles>() : nullptr;
  return std::make_shared<const ImageAdapter>(std::move(images), augment, split,
                                              std::move(unreadable));
}

Result<AdapterPtr> open_table_adapter(const Config& config, Split split) {
  TROUPE_TRY(auto table, open_csv(config.data, config.model, split));
  return std::make_shared<const TableAdapter>(std::move(table));
}

} // namespace

Result<AdapterPtr> open_adapter(const Config& config, Split split) {
  return facts_of_data(config.data.dataset).sample == SampleKind::table_row
             ? open_table_adapter(config, split)
             : open_image_adapter(config, split);
}

} // namespace troupe::data
