/// JSON files of Hugging Face's folders.
#pragma once

#include "core/error.hpp"
#include "importers/document.hpp"

#include <filesystem>

namespace troupe::training {

/// A regular file, which a link may lead to. Errors (invalid_input): any other, one that is too
/// large, no JSON, or names a key twice; with file, line and column.
Result<ForeignDocument> read_small_json(const std::filesystem::path& path);

} // namespace troupe::training
