/// The tables of docs/files.md.
#pragma once

#include "tests/support/scratch_folder.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <regex>
#include <sstream>
#include <string>

namespace troupe::testing {

/// Field -> type.
using FilesTable = std::map<std::string, std::string>;

/// Returns the tables by their heading; the first table has none.
inline std::map<std::string, FilesTable> tables_of_files_page() {
  std::map<std::string, FilesTable> tables;
  std::istringstream page{read_bytes(source_tree() / "docs/files.md")};
  const std::regex heading{"## `([^`]+)`"}, row{R"(\| `([^`]+)` \| ([^|]+) \|.*)"};
  std::string file;
  for (std::string line; std::getline(page, line);)
    if (std::smatch match; std::regex_match(line, match, heading))
      file = match[1];
    else if (std::regex_match(line, match, row))
      CHECK(tables[file].emplace(match[1], match[2]).second);
  return tables;
}

} // namespace troupe::testing
