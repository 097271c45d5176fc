/// Finds text files and reads their documents.
#pragma once

#include "core/error.hpp"
#include "data/left_out.hpp"
#include "data/tokenizer/cut.hpp"

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::data {

struct TextFile {
  std::filesystem::path path;
  std::string name; ///< path below the requested folder
};

struct FoundTexts {
  std::vector<TextFile> files;
  LeftOut left_out;
};

/// Finds the texts: `root` if it is a file, or all files below the folder, sorted by name. Leaves
/// out hidden files and names that end in .tokens. Follows links to folders (walk_folder). Errors:
/// Errc::data if there is none; Errc::io.
Result<FoundTexts> find_texts(const std::filesystem::path& root);

/// Returns 64 hexadecimal digits that depend on the names and contents of the files and on the key.
/// Reads all files. Errors: those of InputFile.
Result<std::string> fingerprint_of(const std::vector<TextFile>& files, std::string_view key);

/// Receives a chunk of a document; `ends` is true for the last one.
using TextTaker = std::function<Status(std::string_view piece, bool ends)>;

/// Reads the documents of a file in chunks of a few megabytes, cut where `find_cut` finds a
/// position. A file is one document. In .jsonl and .ndjson files each line is an object, and the
/// text of its member `key` is one document. Errors (Errc::data): a file that is not text
/// (expect_text); a line that is not such an object, with file and line; 256 MiB without a position
/// to cut; read errors.
Status read_documents(const TextFile& file, const std::string& key, FindCut find_cut,
                      const TextTaker& take);

/// Reads one document up to the end of a stream, in the same chunks, as the data arrive. `name` is
/// the stream's name in errors. Errors: as read_documents.
Status read_document(std::FILE* input, std::string_view name, FindCut find_cut,
                     const TextTaker& take);

} // namespace troupe::data
