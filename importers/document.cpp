#include "importers/document.hpp"

#include <algorithm>

namespace troupe {

ConfigProblem ForeignEntry::problem(std::string source, std::string what, std::string allowed,
                                    std::string suggestion) const {
  return {std::move(source),    line, column, key, std::move(what), std::move(allowed),
          std::move(suggestion)};
}

const ForeignEntry* ForeignDocument::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &ForeignEntry::key);
  return found == entries.end() ? nullptr : &*found;
}

} // namespace troupe
