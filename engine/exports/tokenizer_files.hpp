/// The files of a tokenizer, for who takes the model elsewhere.
#pragma once

#include "exports.hpp"

namespace troupe::engine {

/// Copies those that transformers reads, from data.tokenizer's folder into `folder`: tokenizer.json
/// and what may lie beside it, vocab.json and merges.txt, which OpenAI calls encoder.json and
/// vocab.bpe. Of bytes, and of tiktoken's files, there are none. Errors: data (a file that is not a
/// regular one, or larger than 128 MiB), no_space, io.
Result<std::vector<ExportedFile>> copy_tokenizer(const std::string& tokenizer,
                                                 const std::filesystem::path& folder);

} // namespace troupe::engine
