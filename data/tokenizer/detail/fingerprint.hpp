/// Hash of everything that determines a tokenizer's output, in 64 hexadecimal digits.
#pragma once

#include "data/tokenizer/tokenizer.hpp"

namespace troupe::data {

std::string fingerprint_of(const TokenizerParts& parts);

} // namespace troupe::data
