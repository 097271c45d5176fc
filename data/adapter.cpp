#include "adapter.hpp"

#include "image_adapter.hpp"
#include "table_adapter.hpp"
#include "troupe/core/config/config.hpp"
#include "troupe/core/config/data_sets.hpp"
#include "troupe/core/config/own_data_set.hpp"
#include "troupe/core/fail.hpp"

namespace troupe::data {

namespace {

Result<AdapterPtr> open_image_adapter(const Config& config, Split split) {
  TROUPE_TRY(auto images, open_images(config.data, config.model, split));
  return adapt_images(std::move(images), config, split);
}

Result<AdapterPtr> open_table_adapter(const Config& config, Split split) {
  TROUPE_TRY(auto table, open_csv(config.data, config.model, split));
  return std::make_shared<const TableAdapter>(std::move(table));
}

} // namespace

Result<AdapterPtr> open_adapter(const Config& config, Split split) {
  if (const auto* const own = own_data_set(config.data))
    return own->open(config, split);
  return facts_of_data(config.data).sample == SampleKind::table_row
             ? open_table_adapter(config, split)
             : open_image_adapter(config, split);
}

} // namespace troupe::data
