/// Recognizes files that are not plain text by their first bytes.
#pragma once

#include "core/error.hpp"

#include <string_view>

namespace troupe::data {

/// Advice for files that are not plain text, by kind of file.
struct KindAdvice {
  const char* compressed = "unpack it first";
  const char* archive = "unpack it, or save the document as text";
  const char* document = "write its texts to a .txt or .jsonl file first";
  const char* encoding = "convert it to UTF-8 first";
  const char* image = "move it out of the texts";
  const char* tokens = "as data.root it has to end in .tokens";
};

/// Refuses a compressed file, a table, an image, tokens, and text in UTF-16 or UTF-32 (Errc::data,
/// with the kind and the advice). `begin`: the first bytes of the text `name`.
Status expect_text(std::string_view begin, std::string_view name, const KindAdvice& advice = {});

} // namespace troupe::data
