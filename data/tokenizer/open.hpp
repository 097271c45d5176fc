/// Opens tokenizers from files in other projects' formats.
#pragma once

#include "core/config/data.hpp"
#include "data/tokenizer/tokenizer.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::data {

/// Opens a tokenizer. `name` is "bytes" (each byte is its own token, and 256 is the end of a
/// document) or the path of
/// - Hugging Face's tokenizer.json: model BPE, with pre-tokenizer ByteLevel, or Split by an
///   expression of SplitRule followed by ByteLevel. Its template, padding and truncation are
///   ignored. Added tokens are found in texts; one of them is the end of document.
/// - GPT-2's vocab.json, with merges.txt beside it, or encoder.json and vocab.bpe;
/// - a folder that contains those;
/// - a .tiktoken file: one line per token, in base 64, with its rank. The names r50k_base,
///   p50k_base and cl100k_base determine the expression and the end of document; for other names
///   `split` sets the expression.
/// Errors (Errc::data, Errc::io): an unreadable file; an unsupported feature, by name; a file of
/// more than 128 MiB.
Result<TokenizerPtr> open_tokenizer(const std::string& name,
                                    TokenizerSplit split = TokenizerSplit::automatic);

struct TokenizerFile {
  std::filesystem::path path;
  std::string name; ///< name under which open_tokenizer finds it in a folder
};

/// Returns the files that open_tokenizer reads: tokenizer.json; or the vocabulary and the merges,
/// renamed to vocab.json and merges.txt; or a .tiktoken file, which keeps its name because the name
/// identifies it. Bytes have no file. Errors: those of finding and reading the files.
Result<std::vector<TokenizerFile>> files_of_tokenizer(const std::string& name);

} // namespace troupe::data
