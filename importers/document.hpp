/// A config file of another program as a flat list of its keys, each with its value and its place.
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

/// A key with its value. A list is one value; a mapping is one only where it is empty.
struct ForeignEntry {
  std::string key; ///< "zero_optimization.stage", as the file has it
  int line = 0, column = 0;
  ForeignKind kind = ForeignKind::null;
  std::string text;               ///< of a scalar
  std::vector<std::string> items; ///< of a list; those that are no scalars are "..."

  ConfigProblem problem(std::string source, std::string what, std::string allowed = {},
                        std::string suggestion = {}) const;
};

struct ForeignDocument {
  std::string source; ///< how messages name the file
  std::vector<ForeignEntry> entries;

  /// The first of this name; null: there is none.
  const ForeignEntry* find(std::string_view key) const;
};

using ForeignResult = tl::expected<ForeignDocument, std::vector<ConfigProblem>>;

ForeignResult read_foreign_yaml(std::string_view text, const std::string& source);
/// Comments are allowed.
ForeignResult read_foreign_json(std::string_view text, const std::string& source);
/// Hjson, of which JSON is a part.
ForeignResult read_foreign_hjson(std::string_view text, const std::string& source);

enum class ForeignFormat : std::uint8_t { yaml, json, hjson };

/// A file of at most 1 MiB and 10,000 values. Where there is none the nearest name beside it is
/// suggested.
ForeignResult read_foreign_file(const std::filesystem::path& path, ForeignFormat format);

} // namespace troupe
