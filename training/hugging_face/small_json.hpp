/// JSON files of Hugging Face folders.
#pragma once

#include "core/error.hpp"
#include "importers/document.hpp"

#include <filesystem>

namespace troupe::training {

/// Reads a regular file; the path may be a link to one. Errors (invalid_input): not a regular file,
/// too large, not JSON, or a duplicate key; with file, line and column.
Result<ForeignDocument> read_small_json(const std::filesystem::path& path);

} // namespace troupe::training
