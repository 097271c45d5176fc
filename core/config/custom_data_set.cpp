#include "core/config/custom_data_set.hpp"

#include "core/config/config.hpp"
#include "core/config/schema.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

std::vector<ConfigKey> keys_of(const CustomDataSet& row, DataConfig& data) {
  return row.keys ? row.keys(data) : std::vector<ConfigKey>{};
}

bool has_key(const CustomDataSet& row, std::string_view path) {
  DataConfig any;
  const auto keys = keys_of(row, any);
  return std::ranges::count(keys, path, &ConfigKey::path) > 0;
}

std::string names_with(const DataConfig& data, std::string_view path) {
  std::vector<std::string_view> names;
  for (const auto& row : data.custom_sets.rows())
    if (has_key(row, path))
      names.push_back(row.traits.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

} // namespace

const CustomDataSet* custom_data_set(const DataConfig& data) {
  const auto rows = data.custom_sets.rows();
  const auto found = std::ranges::find(rows, data.dataset,
                                       [](const CustomDataSet& row) { return row.traits.name; });
  return found == rows.end() ? nullptr : &*found;
}

std::vector<ConfigKey> custom_data_keys(DataConfig& data) {
  std::vector<ConfigKey> all;
  for (const auto& row : data.custom_sets.rows())
    for (auto& key : keys_of(row, data)) {
      if (std::ranges::count(all, key.path, &ConfigKey::path) > 0)
        continue;
      key.help += fmt::format(". For {}", names_with(data, key.path));
      all.push_back(std::move(key));
    }
  return all;
}

ConfigConflicts unused_custom_keys(const DataConfig& data) {
  auto given = data; // keys point to writable members
  DataConfig untouched;
  untouched.custom_sets = data.custom_sets;
  const auto keys = custom_data_keys(given), defaults = custom_data_keys(untouched);
  const auto* const chosen = custom_data_set(data);
  ConfigConflicts found;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (const auto default_value = config_value_text(defaults[i]);
        !(chosen && has_key(*chosen, keys[i].path)) && config_value_text(keys[i]) != default_value)
      found.push_back({{keys[i].path, "data.dataset"},
                       fmt::format("dataset {} does not have this key", data.dataset),
                       fmt::format("{}, or a data set that has it: {}", default_value,
                                   names_with(data, keys[i].path))});
  return found;
}

} // namespace troupe
