/// Imports of config texts, and the report on their keys.
#pragma once

#include "importers/import.hpp"
#include "tests/core/config_fixture.hpp"
#include "tests/support/scratch_folder.hpp"

#include <algorithm>
#include <string>

namespace troupe::testing {

inline Imported from_accelerate(std::string_view text, const ImportOptions& options = {}) {
  const ScratchFolder folder;
  write_bytes(folder / "a.yaml", text);
  return import_accelerate(folder / "a.yaml", options, nn::model_catalogue());
}

inline Imported from_deepspeed(std::string_view text, const ImportOptions& options = {}) {
  const ScratchFolder folder;
  write_bytes(folder / "ds.json", text);
  return import_deepspeed(folder / "ds.json", options, nn::model_catalogue());
}

/// `text`: contents of config.json, the only file in its folder.
inline Imported from_hugging_face(std::string_view text, const ImportOptions& options = {}) {
  const ScratchFolder folder;
  write_bytes(folder / "config.json", text);
  return import_hugging_face(folder.path(), options, nn::model_catalogue());
}

/// Returns the problems as the user sees them, without the folder of the file.
inline Lines problems_of(const Imported& imported) {
  Lines lines;
  for (auto problem : imported.problems) {
    problem.source = std::filesystem::path{problem.source}.filename().string();
    lines.push_back(problem.to_string());
  }
  return lines;
}

/// Returns the imported config. Throws when the import reported a problem.
inline Config config_of(const Imported& imported) {
  for (const auto& problem : imported.problems)
    throw std::runtime_error(problem.to_string());
  return good(imported.yaml);
}

/// Returns what the report says about a key; empty when it says nothing, or when the key is a
/// problem.
inline std::string said_of(const Imported& imported, const std::string& key) {
  const auto found = std::ranges::find(imported.lines, key, &ImportLine::key);
  return found == imported.lines.end() ? std::string{} : found->says;
}

/// Returns how often a key occurs, in the report or as a problem.
inline std::ptrdiff_t times_named(const Imported& imported, const std::string& key) {
  return std::ranges::count(imported.lines, key, &ImportLine::key) +
         std::ranges::count(imported.problems, key, &ConfigProblem::key);
}

} // namespace troupe::testing
