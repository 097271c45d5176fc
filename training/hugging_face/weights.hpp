/// The weights of one of Hugging Face's folders, by the names and in the shapes of our graphs.
#pragma once

#include "core/checkpoint/safetensors.hpp"
#include "core/checkpoint/state_source.hpp"
#include "core/config/forward.hpp"
#include "core/graph/graph.hpp"

#include <filesystem>
#include <vector>

namespace troupe::training {

struct HuggingFaceWeights {
  std::vector<SafetensorsEntry> entries; ///< without places: names and shapes here, types there
  StateSourcePtr state;                  ///< of those that are widened; read when they are asked
};

/// config.json has to say what the config says of the model. Names get the model's prefix where
/// the file has none, weights that are (in, out) there are turned, constants of older files are
/// left out, and so is the head where it is tied: it has to have the embedding's bits. Errors:
/// invalid_input (a model that Hugging Face has not; config.json says something else; files that
/// are not as weight_files.hpp asks; a shape that cannot be turned to the graph's); corrupt, io.
Result<HuggingFaceWeights> open_hugging_face(const std::filesystem::path& folder,
                                             const Config& config, const Graph& graph);

} // namespace troupe::training
