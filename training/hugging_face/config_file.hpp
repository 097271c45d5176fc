/// JSON files of Hugging Face folders. config.json describes the model of the weights next to it.
#pragma once

#include "core/error.hpp"
#include "importers/document.hpp"
#include "nn/models/hugging_face.hpp"

#include <filesystem>
#include <string>

namespace troupe::training {

/// Reads a regular file; the path may be a link to one. Errors (invalid_input): not a regular file,
/// too large, not JSON, or a duplicate key; with file, line and column.
Result<ForeignDocument> read_small_json(const std::filesystem::path& path);

/// Whether a folder is a Hugging Face folder: it has a config.json, and no checkpoint.json of ours.
bool is_hugging_face(const std::filesystem::path& folder);

/// Checks that the folder's config.json describes the same model as the form. Errors: invalid_input
/// for an invalid file, and with every key that differs, with both values.
Status check_config_file(const std::filesystem::path& folder, const std::string& model,
                         const nn::HuggingFaceForm& form);

} // namespace troupe::training
