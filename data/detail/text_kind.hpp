/// Files that are no plain text, by their first bytes.
#pragma once

#include "troupe/core/error.hpp"

#include <string_view>

namespace troupe::data {

/// What to do about a file that is not plain text, by its kind.
struct KindAdvice {
  const char* compressed = "unpack it first";
  const char* archive = "unpack it, or save the document as text";
  const char* document = "write its texts to a .txt or .jsonl file first";
  const char* encoding = "convert it to UTF-8 first";
  const char* image = "move it out of the texts";
  const char* tokens = "as data.root it has to end in .tokens";
};

/// Errc::data for a compressed file, a table, an image, tokens, or text in UTF-16 or UTF-32: what
/// it is, and what to do. `begin`: the first bytes of the text `name`.
Status expect_text(std::string_view begin, std::string_view name, const KindAdvice& advice = {});

} // namespace troupe::data
