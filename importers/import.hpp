/// Converts a config file of accelerate, DeepSpeed or transformers to one of troupe. Each key is
/// mapped, or the report says why not. The result is checked like any config.
#pragma once

#include "core/config/catalogue.hpp"
#include "importers/rows.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct ImportOptions {
  std::vector<std::string> overrides = {};          ///< "data.root=DIR"
  std::optional<std::int64_t> processes = {};       ///< used if the file does not state it
  std::optional<std::int64_t> steps_per_epoch = {}; ///< converts DeepSpeed's counts of steps
  bool allow_unsupported = false;                   ///< leaves unsupported keys out instead of
                                                    ///< reporting errors
};

/// The outcome of one key.
struct ImportLine {
  std::string source;
  int line = 0;
  std::string key;
  Fate fate = Fate::mapped;
  std::string says;

  /// Returns "ds.json:3: train_batch_size: mapped to data.batch_size: 64".
  std::string to_string() const;
};

struct Imported {
  std::vector<ImportLine> lines;       ///< one per key without a problem
  std::vector<ConfigProblem> problems; ///< empty: it can be trained
  std::vector<std::string> hints;      ///< facts missing from the files
  std::string yaml;                    ///< the config; empty if there are problems
};

Imported import_accelerate(const std::filesystem::path& path, const ImportOptions& options,
                           const Catalogue& catalogue);
Imported import_deepspeed(const std::filesystem::path& path, const ImportOptions& options,
                          const Catalogue& catalogue);
/// Reads a config.json, or the folder that has it: takes the model, and its weights and tokenizer
/// if they are in the same folder.
Imported import_hugging_face(const std::filesystem::path& path, const ImportOptions& options,
                             const Catalogue& catalogue);

} // namespace troupe
