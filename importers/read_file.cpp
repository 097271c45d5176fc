#include "core/config/text_file.hpp"
#include "importers/document.hpp"

namespace troupe {

ForeignResult read_foreign_file(const std::filesystem::path& path, ForeignFormat format) {
  const auto text = read_config_text(path, {".json", ".hjson", ".yaml", ".yml"});
  if (!text)
    return tl::unexpected(std::vector{text.error()});
  const auto read = format == ForeignFormat::json    ? read_foreign_json
                    : format == ForeignFormat::hjson ? read_foreign_hjson
                                                     : read_foreign_yaml;
  return read(*text, path.string());
}

} // namespace troupe
