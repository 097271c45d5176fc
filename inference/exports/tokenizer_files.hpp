/// The files of a tokenizer, for who takes the model elsewhere.
#pragma once

#include "inference/exports/exports.hpp"

namespace troupe::inference {

/// Copies data.tokenizer's files into `folder`: those that it is read from, under the names of
/// data::files_of_tokenizer, so that they are found again there, and what transformers reads
/// besides (tokenizer_config.json, special_tokens_map.json, added_tokens.json). Of bytes there is
/// none. Errors: of files_of_tokenizer; data (a file that is not a regular one, or larger than 128
/// MiB); no_space, io.
Result<std::vector<ExportedFile>> copy_tokenizer(const std::string& tokenizer,
                                                 const std::filesystem::path& folder);

} // namespace troupe::inference
