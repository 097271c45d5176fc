/// Matches tensors of a file with those of a model.
#pragma once

#include "core/checkpoint/safetensors.hpp"
#include "core/graph/graph.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::training {

/// A parameter or statistic of the model, and the source of its values.
struct WeightsSource {
  TensorId tensor = -1;
  const SafetensorsEntry* entry = nullptr; ///< null: initialized
  std::string why = {};                    ///< reason for initializing it
};

struct WeightsMatch {
  std::vector<WeightsSource> sources; ///< of all tensors, parameters first
  std::string prefix;                 ///< common to all names of the file
};

/// The parts of a model that may differ in the file.
enum class MayDiffer : std::uint8_t {
  stem_and_head, ///< for fine-tuning: these are initialized
  nothing,       ///< for using the model unchanged
};

/// Matches tensors by name. A tensor of another shape is initialized if it may differ and is part
/// of the stem (the first unit) or the head (the last unit). So is a head that is missing in the
/// file. Ignores batch counters (num_batches_tracked) and optimizer state. Errors: invalid_input if
/// any other tensor of the model is missing or does not fit, if the file has other tensors, or if
/// most of the model would be initialized; names the first ten, with expected shapes and the most
/// similar names. The entries must outlive the result.
Result<WeightsMatch> match_weights(const Graph& graph, const std::string& model,
                                   std::span<const SafetensorsEntry> entries,
                                   MayDiffer may_differ = MayDiffer::stem_and_head);

} // namespace troupe::training
