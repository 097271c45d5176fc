/// Tokenizers from files of others.
#pragma once

#include "data/tokenizer/tokenizer.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::data {

/// How a text is cut into words where the file does not say it: auto, gpt2, cl100k
/// (data.tokenizer_split).
inline constexpr std::string_view split_of_file = "auto";

/// `name`: "bytes", each byte its own number and 256 the end of a document; or the path of
/// - Hugging Face's tokenizer.json: model BPE, pre-tokenizer ByteLevel, or Split by an expression
///   of SplitRule and then ByteLevel. What it adds around texts, its padding and its truncation are
///   left out. Added tokens are found in texts; one of them is the end of documents.
/// - GPT-2's vocab.json, with merges.txt beside it, or encoder.json and vocab.bpe;
/// - a folder with those;
/// - a .tiktoken file: a line of base 64 and a rank for each token. By their names those of
///   r50k_base, p50k_base and cl100k_base have their expression and end; of others `split` says it.
/// Errors (Errc::data, Errc::io): what cannot be read, or that we cannot do, by its name; files of
/// more than 128 MiB.
Result<TokenizerPtr> open_tokenizer(const std::string& name,
                                    std::string_view split = split_of_file);

struct TokenizerFile {
  std::filesystem::path path;
  std::string name; ///< by which a folder of them is read again
};

/// The files that open_tokenizer reads: tokenizer.json; vocab.json and merges.txt, whatever they
/// are called there; a .tiktoken file, which keeps its name and is opened by it. Of bytes there is
/// none. Errors: of finding and reading them.
Result<std::vector<TokenizerFile>> files_of_tokenizer(const std::string& name);

} // namespace troupe::data
