/// Converts texts to tokens.
#pragma once

#include "data/tokenizer/tokenizer.hpp"
#include "data/tokens/text_source.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace troupe::data {

struct TextCounts {
  std::int64_t documents = 0, tokens = 0; ///< tokens: including ends of documents
  std::uint64_t bytes = 0;                ///< size of the texts
};

/// Receives tokens as they are computed, some millions at once.
using TokenTaker = std::function<Status(std::span<const TokenId> ids)>;

/// Computes the tokens of all documents of the files, each followed by an end of document. `key` is
/// the member that contains the text in JSON lines. Errors: those of read_documents and of `take`.
Result<TextCounts> tokenize(const std::vector<TextFile>& files, const std::string& key,
                            const TokenizerPtr& tokenizer, const TokenTaker& take);

/// Computes the tokens of one document, read up to the end of a stream. Errors: those of
/// read_document and of `take`.
Result<TextCounts> tokenize(std::FILE* input, std::string_view name, const TokenizerPtr& tokenizer,
                            const TokenTaker& take);

} // namespace troupe::data
