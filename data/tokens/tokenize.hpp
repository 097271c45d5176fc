/// Texts become tokens.
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
  std::int64_t documents = 0, tokens = 0; ///< tokens: with the ends of documents
  std::uint64_t bytes = 0;                ///< of the texts
};

/// Takes tokens as they come, some millions at once.
using TokenTaker = std::function<Status(std::span<const TokenId> ids)>;

/// The tokens of all documents of the files, each with the end of a document behind it. `key`: of
/// JSON lines. Errors: of read_documents, and of `take`.
Result<TextCounts> tokenize(const std::vector<TextFile>& files, const std::string& key,
                            const TokenizerPtr& tokenizer, const TokenTaker& take);

/// The same of one document, to the end of a stream. Errors: of read_document, and of `take`.
Result<TextCounts> tokenize(std::FILE* input, std::string_view name, const TokenizerPtr& tokenizer,
                            const TokenTaker& take);

} // namespace troupe::data
