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
  const char* tokens = "to use it as data.root, give its name the extension .tokens";
};

/// Refuses a compressed file, a table, an image, tokens, and text in UTF-16 or UTF-32. `begin`
/// contains the first bytes of the text `name`. Errors: Errc::data, with the kind of file and the
/// advice.
Status expect_text(std::string_view begin, std::string_view name, const KindAdvice& advice = {});

} // namespace troupe::data
