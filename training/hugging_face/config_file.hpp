/// config.json, which says what the weights beside it are of.
#pragma once

#include "core/error.hpp"
#include "nn/models/hugging_face.hpp"

#include <filesystem>
#include <string>

namespace troupe::training {

/// Whether a folder is one of Hugging Face's: it has a config.json, and no checkpoint.json of ours.
bool is_hugging_face(const std::filesystem::path& folder);

/// Whether the folder's config.json says the same of the model as the form. Errors: invalid_input
/// for what is no such file, and with every key that says something else, with both values.
Status check_config_file(const std::filesystem::path& folder, const std::string& model,
                         const nn::HuggingFaceForm& form);

/// A value as JSON has it.
std::string json_text(const nn::HuggingFaceValue& value);

} // namespace troupe::training
