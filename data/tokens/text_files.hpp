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
  std::string name; ///< below the folder that was asked for
};

struct FoundTexts {
  std::vector<TextFile> files;
  LeftOut left_out;
};

/// A file, or all files below a folder, by name, but for hidden ones and those whose name ends in
/// .tokens; links to folders are followed (walk_folder). Errors (Errc::data): none is there;
/// Errc::io.
Result<FoundTexts> find_texts(const std::filesystem::path& root);

/// 64 hexadecimal digits of the files' names and contents, and of the key. Reads all of the files.
/// Errors: of InputFile.
Result<std::string> fingerprint_of(const std::vector<TextFile>& files, std::string_view key);

} // namespace troupe::data
