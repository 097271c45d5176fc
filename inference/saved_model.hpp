/// Opens a trained model of this program or another: its config, its weights, and the meaning of
/// its inputs and outputs. Computes nothing yet.
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
  std::optional<std::filesystem::path> config = {};      ///< replaces the file's config
  std::vector<std::string> overrides = {};               ///< "data.root=...", values are YAML
  std::optional<std::filesystem::path> class_names = {}; ///< one per line; replaces the file's
  training::SayLine say = {};                            ///< receives warnings
};

struct SavedModel {
  std::filesystem::path file; ///< the weights file, or the folder
  Config config;              ///< of one worker on this machine, without training settings
  training::ModelCard card;   ///< class_names: one for each class, or none
  StateSourcePtr weights;
  /// Class names as they occur in a table's files, whatever the options name them.
  std::vector<std::string> trained_class_names = {};
};

/// Opens a model. The config is the first that exists of: the one in the options, the file's own,
/// that of the run's folder around the file, the folder's config.json. Drops devices, strategy and
/// cluster of the training run: devices.kind is auto unless overridden. Class names that are not
/// recorded come from the data set, if its files exist. Blocks on files; verifies a checkpoint.
/// Errors: invalid_input (no config, an invalid one, a number of names that differs from the number
/// of classes); corrupt; io.
Result<SavedModel> open_saved_model(const SavedModelOptions& options, const Catalogue& catalogue);

} // namespace troupe::inference
