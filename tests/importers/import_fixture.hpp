/// Imports of texts, and what became of their keys.
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

/// `text`: config.json, alone in its folder.
inline Imported from_hugging_face(std::string_view text, const ImportOptions& options = {}) {
  const ScratchFolder folder;
  write_bytes(folder / "config.json", text);
  return import_hugging_face(folder.path(), options, nn::model_catalogue());
}

/// Problems as a person sees them, without the folder of the file.
inline Lines problems_of(const Imported& imported) {
  Lines lines;
  for (auto problem : imported.problems) {
    problem.source = std::filesystem::path{problem.source}.filename().string();
    lines.push_back(problem.to_string());
  }
  return lines;
}

/// The config that an import has made.
inline Config config_of(const Imported& imported) {
  for (const auto& problem : imported.problems)
    throw std::runtime_error(problem.to_string());
  return good(imported.yaml);
}

/// What became of a key; empty: nothing is said of it, or it is a problem.
inline std::string said_of(const Imported& imported, const std::string& key) {
  const auto found = std::ranges::find(imported.lines, key, &ImportLine::key);
  return found == imported.lines.end() ? std::string{} : found->says;
}

/// Times that a key is named: in the report, or as a problem.
inline std::ptrdiff_t times_named(const Imported& imported, const std::string& key) {
  return std::ranges::count(imported.lines, key, &ImportLine::key) +
         std::ranges::count(imported.problems, key, &ConfigProblem::key);
}

} // namespace troupe::testing
