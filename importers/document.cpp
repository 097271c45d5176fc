#include "importers/document.hpp"

#include "core/config/text_file.hpp"

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

ForeignResult read_foreign_file(const std::filesystem::path& path, ForeignReader read) {
  const auto text = read_config_text(path, {".json", ".hjson", ".yaml", ".yml"});
  if (!text)
    return tl::unexpected(std::vector{text.error()});
  return read(*text, path.string());
}

} // namespace troupe
