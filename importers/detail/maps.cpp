#include "importers/detail/maps.hpp"

#include "core/suggestion.hpp"

#include <fmt/ranges.h>

namespace troupe {

ForeignMap switch_to(std::string key, std::string on, std::string off) {
  return [=](const ForeignContext&, const ForeignEntry& entry) {
    const auto value = boolean_of(entry);
    return value ? mapped({{key, *value ? on : off}}) : wrong(entry, "true or false");
  };
}

ForeignMap count_to(std::string key, std::string allowed) {
  return [=](const ForeignContext&, const ForeignEntry& entry) {
    const auto value = whole_of(entry);
    return value && *value >= 1 ? mapped({{key, fmt::format("{}", *value)}})
                                : wrong(entry, allowed);
  };
}

ForeignMap number_to(std::string key, std::string allowed, double least, double most) {
  return [=](const ForeignContext&, const ForeignEntry& entry) {
    const auto value = number_of(entry);
    return value && *value >= least && *value <= most ? mapped({{key, number_text(*value)}})
                                                      : wrong(entry, allowed);
  };
}

ForeignOutcome if_on(const ForeignEntry& entry, ForeignOutcome on, std::string allowed) {
  const auto value = boolean_of(entry);
  if (!value)
    return wrong(entry, std::move(allowed));
  return *value ? std::move(on) : with_fate(Fate::idle, "false enables nothing");
}

ForeignOutcome unknown_word(const ForeignEntry& entry, const std::vector<std::string>& words) {
  return wrong(entry, fmt::format("{}", fmt::join(words, ", ")), suggest(entry.text, words));
}

} // namespace troupe
