/// Finds positions where a long text may be cut into chunks that are tokenized one after another.
#pragma once

#include "data/tokenizer/tokenizer.hpp"

#include <cstddef>
#include <string_view>

namespace troupe::data {

/// Returns the last position after `searched` where cutting the text does not change its tokens,
/// for any text that follows; 0 if there is none. It reads only the text after `searched`, so that
/// the total time for a growing text is linear in its length.
using FindCut = std::size_t (*)(std::string_view text, std::size_t searched);

/// Returns the function for a tokenizer. Without merges any position works. Otherwise it cuts at a
/// line end after any character: before the white space that the line end belongs to, or, if the
/// expression takes line ends together with punctuation, after it. If such a cut could divide an
/// added token, the function uses last_cut.
FindCut cut_for(const Tokenizer& tokenizer);

} // namespace troupe::data
