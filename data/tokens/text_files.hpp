/// The files of a data set of texts.
#pragma once

#include "core/error.hpp"
#include "data/left_out.hpp"

#include <filesystem>
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

} // namespace troupe::data
