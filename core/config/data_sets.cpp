#include "core/config/data_sets.hpp"

#include "core/config/config.hpp"
#include "core/config/own_data_set.hpp"

#include <algorithm>

namespace troupe {

DataSetFacts facts_of_data(const DataConfig& data) {
  if (const auto* own = own_data_set(data))
    return own->facts;
  const auto* const row = std::ranges::find(data_sets, data.dataset, &DataSetFacts::name);
  return row == data_sets.end() ? DataSetFacts{.name = data.dataset} : *row;
}

std::int64_t tokens_per_step(const DataConfig& data) {
  const bool has_tokens = facts_of_data(data).sample == SampleKind::tokens;
  return has_tokens ? data.batch_size * data.sequence_length : 0;
}

std::vector<std::string> data_set_names(const DataConfig& data) {
  std::vector<std::string> names;
  names.reserve(std::size(data_sets) + data.own_sets.rows().size());
  for (const auto& row : data_sets)
    names.emplace_back(row.name);
  for (const auto& row : data.own_sets.rows())
    names.emplace_back(row.facts.name);
  return names;
}

} // namespace troupe
