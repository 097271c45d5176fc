/// JSON files of Hugging Face's folders.
#pragma once

#include "core/config/import/document.hpp"
#include "core/error.hpp"

#include <filesystem>

namespace troupe::engine {

/// A regular file, which a link may lead to. Errors (invalid_input): any other, one that is too
/// large, no JSON, or names a key twice; with file, line and column.
Result<ForeignDocument> read_small_json(const std::filesystem::path& path);

} // namespace troupe::engine
