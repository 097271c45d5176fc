/// What a weights file says of its model in its metadata, so that it can be used alone: the config,
/// the classes' names, and what inputs are shifted and divided by.
#pragma once

#include "core/config/forward.hpp"
#include "data/adapter.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe::training {

/// By channel of images, where pixels / 255 are meant, or by feature of a table.
struct InputNormalization {
  std::vector<double> mean, deviation; ///< empty: inputs are taken as they are
};

struct ModelCard {
  std::optional<std::string> config = {};       ///< a complete YAML file
  std::vector<std::string> class_names = {};    ///< by label
  std::optional<InputNormalization> input = {}; ///< empty: not said
};

/// What an adapter does to its inputs.
InputNormalization normalization_of(const data::Adapter& adapter);

/// JSON with the lists "mean" and "std": what inputs are shifted and divided by. A run goes on with
/// its own (data_identity.hpp).
inline constexpr const char* normalization_key = "normalization";

/// Keys of a checkpoint's metadata: "config", "normalization" and, of images, "image_size". The
/// classes' names are written by describe_data.
std::map<std::string, std::string> describe_model(const Config& config,
                                                  const data::Adapter& adapter);

/// The same of what a card says, with the classes' names: for files that are exported.
std::map<std::string, std::string> to_metadata(const Config& config, const ModelCard& card);

/// Reads the keys that are there; others are left alone. A file may lack all of them, and values
/// that make no sense count as not said: the config, which is checked by who reads it, apart.
ModelCard read_card(const std::map<std::string, std::string>& metadata);

} // namespace troupe::training
