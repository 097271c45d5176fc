/// The texts of a data set: files, and what is in them.
#pragma once

#include "troupe/core/error.hpp"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::data {

struct TextFile {
  std::filesystem::path path;
  std::string name; ///< below the folder that was asked for
  std::uint64_t bytes = 0;
  std::int64_t modified = 0; ///< nanoseconds since some time
};

/// A file, or all files of a folder and of those in it, by name; files whose name begins with a dot
/// or ends in .tokens are left out. Errors (Errc::data): none is there; Errc::io.
Result<std::vector<TextFile>> find_texts(const std::filesystem::path& root);

/// 64 hexadecimal digits of the files' names, sizes and times of change, and of the key.
std::string fingerprint_of(const std::vector<TextFile>& files, std::string_view key);

/// Takes a piece of a document; `ends`: it is the last one.
using TextTaker = std::function<Status(std::string_view piece, bool ends)>;

/// Reads the documents of a file, in pieces of some megabytes whose words are those of the whole
/// (last_cut). A file is one document; of .jsonl and .ndjson each line is one: the text of the key
/// in its object. Errors (Errc::data): with file and line a line that is no such object; a piece of
/// 256 MiB without a place to cut; of reading.
Status read_documents(const TextFile& file, const std::string& key, const TextTaker& take);

/// Reads one document to the end of a stream, in such pieces, as it comes. `name`: of the stream,
/// for errors. Errors: as of a file.
Status read_document(std::FILE* input, std::string_view name, const TextTaker& take);

} // namespace troupe::data
