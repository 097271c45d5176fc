/// Metadata that makes a weights file usable by itself: the config, the class names, and the
/// normalization of inputs.
#pragma once

#include "core/config/forward.hpp"
#include "data/adapter.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe::training {

/// Mean and standard deviation by channel of images (of pixels / 255), or by feature of a table.
struct InputNormalization {
  std::vector<double> mean, deviation; ///< empty: inputs are used unchanged
};

struct ModelCard {
  std::optional<std::string> config = {};       ///< a complete YAML file
  std::vector<std::string> class_names = {};    ///< by label
  std::optional<InputNormalization> input = {}; ///< empty: not recorded
};

/// Key of the normalization: JSON with the lists "mean" and "std". A resumed run uses the recorded
/// normalization (data_identity.hpp).
inline constexpr const char* normalization_key = "normalization";

/// Key of the class names: a JSON list.
inline constexpr const char* classes_key = "class_names";

/// Returns the keys "config", "normalization" and, for images, "image_size" of a checkpoint's
/// metadata. describe_data writes the class names.
std::map<std::string, std::string> describe_model(const Config& config,
                                                  const data::Adapter& adapter);

/// Returns the same keys from a card, and the class names: for exported files.
std::map<std::string, std::string> to_metadata(const Config& config, const ModelCard& card);

/// Reads a card. Every key may be missing, and other keys are ignored. An invalid value counts as
/// missing, except that the config is not checked here: its reader checks it.
ModelCard read_card(const std::map<std::string, std::string>& metadata);

} // namespace troupe::training
