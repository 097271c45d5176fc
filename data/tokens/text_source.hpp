/// The documents in files of texts.
#pragma once

#include "core/error.hpp"
#include "data/tokenizer/cut.hpp"
#include "data/tokens/text_files.hpp"

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace troupe::data {

/// Takes a piece of a document; `ends`: it is the last one.
using TextTaker = std::function<Status(std::string_view piece, bool ends)>;

/// Reads the documents of a file, in pieces of some megabytes, cut where `find_cut` finds a place.
/// A file is one document; of .jsonl and .ndjson each line is one: the text of the key in its
/// object. Errors (Errc::data): a file that is no text (expect_text); with file and line a line
/// that is no such object; a piece of 256 MiB without a place to cut; of reading.
Status read_documents(const TextFile& file, const std::string& key, FindCut find_cut,
                      const TextTaker& take);

/// Reads one document to the end of a stream, in such pieces, as it comes. `name`: of the stream,
/// for errors. Errors: as of a file.
Status read_document(std::FILE* input, std::string_view name, FindCut find_cut,
                     const TextTaker& take);

} // namespace troupe::data
