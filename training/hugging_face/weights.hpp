/// Opens the weights of a Hugging Face folder with the names and shapes of our graphs.
#pragma once

#include "core/checkpoint/safetensors.hpp"
#include "core/checkpoint/state_source.hpp"
#include "core/config/forward.hpp"
#include "core/graph/graph.hpp"

#include <filesystem>
#include <vector>

namespace troupe::training {

struct HuggingFaceWeights {
  std::vector<SafetensorsEntry> entries; ///< our names and shapes, the file's types; no offsets
  StateSourcePtr state; ///< tensors of types that can be cast up to f32; values are read on demand
};

/// Opens the weights of a folder whose config.json matches the config's model. Adds the model's
/// prefix if the file's names lack it, transposes weights stored as (in, out), and drops constants
/// of older files. Drops a tied head, whose bits must equal the embedding's. Errors: invalid_input
/// (a model that Hugging Face does not have; a different config.json; files that weight_files.hpp
/// refuses; a shape that cannot be transposed to the graph's); corrupt, io.
Result<HuggingFaceWeights> open_hugging_face(const std::filesystem::path& folder,
                                             const Config& config, const Graph& graph);

} // namespace troupe::training
