/// The tokens of a data set's texts: made once, and kept in a file.
#pragma once

#include "core/config/forward.hpp"
#include "data/left_out.hpp"
#include "data/tokens/token_file.hpp"

#include <string>

namespace troupe::data {

struct TextTokens {
  TokenFilePtr file;
  LeftOut left_out; ///< files beside the texts
};

/// Of the texts at `root` with data.tokenizer, from ROOT.tokens beside it, or a file in the folder
/// data.tokens_cache; it is written first where there is none, or one of other texts or another
/// tokenizer. A root that ends in .tokens is such a file itself. Errors: of open_tokenizer,
/// find_texts, tokenize and TokenFile; Errc::data for a file of another tokenizer.
Result<TextTokens> open_text_tokens(const DataConfig& data, const std::string& root);

} // namespace troupe::data
