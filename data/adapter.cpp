#include "data/adapter.hpp"

#include "core/config/config.hpp"
#include "core/config/custom_data_set.hpp"
#include "core/config/data_sets.hpp"
#include "core/fail.hpp"
#include "data/image_adapter.hpp"
#include "data/table_adapter.hpp"
#include "data/tokens/token_adapter.hpp"

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

Result<AdapterPtr> open_token_adapter(const Config& config, Split split) {
  TROUPE_TRY(auto windows, open_text(config.data, split));
  TROUPE_TRY(check_vocabulary(windows->file().traits().vocabulary_size, config));
  const bool drops = split == Split::train && config.model.dropout > 0;
  return std::make_shared<const TokenAdapter>(
      std::move(windows), drops ? std::optional{config.run.seed} : std::nullopt);
}

} // namespace

Result<AdapterPtr> open_adapter(const Config& config, Split split) {
  if (const auto* const own = custom_data_set(config.data))
    return own->open(config, split);
  switch (traits_of_data(config.data).sample) {
  case SampleKind::table_row:
    return open_table_adapter(config, split);
  case SampleKind::tokens:
    return open_token_adapter(config, split);
  default:
    return open_image_adapter(config, split);
  }
}

} // namespace troupe::data
