/// Where a long text may be cut into pieces that are tokenized one after the other.
#pragma once

#include "data/tokenizer/tokenizer.hpp"

#include <cstddef>
#include <string_view>

namespace troupe::data {

/// Returns the last place after `searched` where a text can be cut so that the tokens of both parts
/// are those of the whole, whatever follows; 0: there is none. It is found in the part after
/// `searched`, so that the time for a text that grows is in proportion to its length.
using FindCut = std::size_t (*)(std::string_view text, std::size_t searched);

/// Of a tokenizer without merges any place. Else a line end, after any character: before the white
/// space that it belongs to, or, where the expression takes line ends together with punctuation,
/// after them. Of a tokenizer that has an added token which this could divide: last_cut.
FindCut cut_for(const Tokenizer& tokenizer);

} // namespace troupe::data
