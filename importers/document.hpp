/// A config file of another program as a flat list of its keys, each with its value and its
/// location.
#pragma once

#include "core/config/problem.hpp"

#include <tl/expected.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class ForeignKind : std::uint8_t { null, boolean, number, text, list, mapping /*!< empty */ };

/// A key with its value. A list is one value; a mapping is one only if it is empty.
struct ForeignEntry {
  std::string key; ///< "zero_optimization.stage", as in the file
  int line = 0, column = 0;
  ForeignKind kind = ForeignKind::null;
  std::string text;               ///< of a scalar
  std::vector<std::string> items; ///< of a list; items that are not scalars are "..."

  ConfigProblem problem(std::string source, std::string what, std::string allowed = {},
                        std::string suggestion = {}) const;
};

struct ForeignDocument {
  std::string source; ///< name of the file in messages
  std::vector<ForeignEntry> entries;

  /// Returns the first entry of this name; null: none.
  const ForeignEntry* find(std::string_view key) const;
};

using ForeignResult = tl::expected<ForeignDocument, std::vector<ConfigProblem>>;

ForeignResult read_foreign_yaml(std::string_view text, const std::string& source);
/// Reads JSON; comments are allowed.
ForeignResult read_foreign_json(std::string_view text, const std::string& source);
/// Reads Hjson, a superset of JSON.
ForeignResult read_foreign_hjson(std::string_view text, const std::string& source);

/// One of the functions above.
using ForeignReader = ForeignResult (*)(std::string_view text, const std::string& source);

/// Reads a file of at most 1 MiB and 10,000 values. If the file is missing, suggests the nearest
/// name in its folder.
ForeignResult read_foreign_file(const std::filesystem::path& path, ForeignReader read);

} // namespace troupe
