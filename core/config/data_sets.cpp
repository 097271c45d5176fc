#include "core/config/data_sets.hpp"

#include "core/config/config.hpp"
#include "core/config/custom_data_set.hpp"

#include <algorithm>

namespace troupe {

DataSetTraits traits_of_data(const DataConfig& data) {
  if (const auto* own = custom_data_set(data))
    return own->traits;
  const auto* const row = std::ranges::find(data_sets, data.dataset, &DataSetTraits::name);
  return row == data_sets.end() ? DataSetTraits{.name = data.dataset} : *row;
}

std::int64_t tokens_per_step(const DataConfig& data) {
  const bool has_tokens = traits_of_data(data).sample == SampleKind::tokens;
  return has_tokens ? data.batch_size * data.sequence_length : 0;
}

std::vector<std::string> data_set_names(const DataConfig& data) {
  std::vector<std::string> names;
  names.reserve(std::size(data_sets) + data.custom_sets.rows().size());
  for (const auto& row : data_sets)
    names.emplace_back(row.name);
  for (const auto& row : data.custom_sets.rows())
    names.emplace_back(row.traits.name);
  return names;
}

} // namespace troupe
