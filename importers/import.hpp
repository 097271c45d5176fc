/// From a config file of accelerate, DeepSpeed or transformers to one of troupe: each key is
/// mapped, or it is said why not. What is made is checked as any config.
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
  std::optional<std::int64_t> processes = {};       ///< where the file does not say it
  std::optional<std::int64_t> steps_per_epoch = {}; ///< converts what DeepSpeed counts in steps
  bool allow_unsupported = false;                   ///< leave out what would be an error
};

/// What became of a key.
struct ImportLine {
  std::string source;
  int line = 0;
  std::string key;
  Fate fate = Fate::mapped;
  std::string says;

  /// "ds.json:3: train_batch_size: mapped to data.batch_size: 64".
  std::string to_string() const;
};

struct Imported {
  std::vector<ImportLine> lines;       ///< of every key that is no problem
  std::vector<ConfigProblem> problems; ///< empty: it can be trained
  std::vector<std::string> hints;      ///< what the files do not say
  std::string yaml;                    ///< the config; empty where there are problems
};

Imported import_accelerate(const std::filesystem::path& path, const ImportOptions& options,
                           const Catalogue& catalogue);
Imported import_deepspeed(const std::filesystem::path& path, const ImportOptions& options,
                          const Catalogue& catalogue);
/// A config.json, or the folder that has it: of its model, with its weights and its tokenizer where
/// they lie beside it.
Imported import_hugging_face(const std::filesystem::path& path, const ImportOptions& options,
                             const Catalogue& catalogue);

} // namespace troupe
