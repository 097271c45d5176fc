#include "../detail/text_file.hpp"
#include "document.hpp"

namespace troupe {

ForeignResult read_foreign_file(const std::filesystem::path& path, ForeignFormat format) {
  const auto text = read_config_text(path, {".json", ".yaml", ".yml"});
  if (!text)
    return tl::unexpected(std::vector{text.error()});
  return format == ForeignFormat::json ? read_foreign_json(*text, path.string())
                                       : read_foreign_yaml(*text, path.string());
}

} // namespace troupe
