/// Tokens of a data set's texts, computed once and cached in a file.
#pragma once

#include "core/config/forward.hpp"
#include "data/left_out.hpp"
#include "data/tokens/token_file.hpp"

#include <string>

namespace troupe::data {

struct TextTokens {
  TokenFilePtr file;
  LeftOut left_out; ///< files that are not texts
};

/// Returns the tokens of the texts at `root`, encoded by data.tokenizer. Reads them from
/// ROOT.tokens beside it, or from a file in the folder data.tokenizer.cache. Writes that file first
/// if it is missing, or if it is of other texts or another tokenizer. If `root` ends in .tokens, it
/// is the token file itself. Errors: those of open_tokenizer, find_texts, tokenize and TokenFile;
/// Errc::data for a file of another tokenizer.
Result<TextTokens> open_text_tokens(const DataConfig& data, const std::string& root);

} // namespace troupe::data
