/// A model that was trained, here or elsewhere, before anything is computed with it: its config,
/// its weights, and what its inputs and outputs mean.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "core/config/catalogue.hpp"
#include "core/config/config.hpp"
#include "training/model_card.hpp"
#include "training/platforms/platform.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::inference {

struct SavedModelOptions {
  std::filesystem::path path; ///< as find_weights takes it, or a Hugging Face folder
  std::optional<std::filesystem::path> config = {};      ///< instead of what the file says
  std::vector<std::string> overrides = {};               ///< "data.root=...", values are YAML
  std::optional<std::filesystem::path> class_names = {}; ///< one a line, instead of the file's
  training::SayLine say = {};                            ///< gets warnings
};

struct SavedModel {
  std::filesystem::path file; ///< of the weights, or the folder
  Config config;              ///< of one worker on this machine, which trains nothing
  training::ModelCard card;   ///< class_names: as many as the model has classes, or none
  StateSourcePtr weights;
  /// The names that a table's classes have in its files, whatever the options call them.
  std::vector<std::string> trained_class_names = {};
};

/// The config is the one that the options name, or else the file's own, or else that of the run's
/// folder around it, or what the folder's config.json says. Of what the run was trained with,
/// devices, strategy and cluster are left out: devices.kind is auto unless the overrides say. Names
/// that nothing says are those of the data set, where its files are there. Blocks on files; a
/// checkpoint is verified. Errors: invalid_input (no config, one that is wrong, names that are not
/// as many as there are classes); corrupt; io.
Result<SavedModel> open_saved_model(const SavedModelOptions& options, const Catalogue& catalogue);

} // namespace troupe::inference
