/// Exports the files of a tokenizer.
#pragma once

#include "inference/exports/exports.hpp"

namespace troupe::inference {

/// Copies data.tokenizer's files into `folder`, under the names of data::files_of_tokenizer, so
/// that they can be opened there. Also copies files that only transformers reads
/// (tokenizer_config.json, special_tokens_map.json, added_tokens.json). A tokenizer of bytes has no
/// files. Errors: those of files_of_tokenizer; data (not a regular file, or larger than 128 MiB);
/// no_space, io.
Result<std::vector<ExportedFile>> copy_tokenizer(const std::string& tokenizer,
                                                 const std::filesystem::path& folder);

} // namespace troupe::inference
