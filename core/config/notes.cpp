#include "notes.hpp"

#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace troupe {

std::vector<std::string> config_notes(const Config& config, const Catalogue& catalogue) {
  std::vector<std::string> notes;
  auto given = config,
       usual = default_config(catalogue); // keys point to members that can be written
  const auto keys = config_keys(given, catalogue), defaults = config_keys(usual, catalogue);
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (!keys[i].deprecated.empty() && config_value_text(keys[i]) != config_value_text(defaults[i]))
      notes.push_back(fmt::format("{} is deprecated: {}", keys[i].path, keys[i].deprecated));
  if (catalogue.notes)
    std::ranges::move(catalogue.notes(config), std::back_inserter(notes));
  return notes;
}

} // namespace troupe
