/// What two tokenizers have to share to make the same of all texts, in 64 hexadecimal digits.
#pragma once

#include "data/tokenizer/tokenizer.hpp"

namespace troupe::data {

std::string fingerprint_of(const TokenizerParts& parts);

} // namespace troupe::data
