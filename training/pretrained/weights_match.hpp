/// Which tensors of a file belong to which of a model.
#pragma once

#include "core/checkpoint/safetensors.hpp"
#include "core/graph/graph.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::training {

/// A parameter or a statistic of the model, and where its values come from.
struct WeightsSource {
  TensorId tensor = -1;
  const SafetensorsEntry* entry = nullptr; ///< null: it begins anew
  std::string why = {};                    ///< it does
};

struct WeightsMatch {
  std::vector<WeightsSource> sources; ///< of all, parameters first
  std::string prefix;                 ///< that all names of the file have
};

/// What of a model need not be in the file as it is in the model.
enum class MayDiffer : std::uint8_t {
  stem_and_head, ///< to go on training: these begin anew
  nothing,       ///< to use the model as it is
};

/// By name. What has another shape begins anew where it may differ: if it is part of the stem or
/// the head, the first and the last unit; so does a head of which the file has nothing. Counts of
/// batches (num_batches_tracked) and an optimizer's state are left out. Errors: invalid_input where
/// anything else of the model is missing or does not fit, where the file has anything else, or
/// where most of the model would begin anew; names the first ten, what was expected and the nearest
/// name. The entries must live as long as the result.
Result<WeightsMatch> match_weights(const Graph& graph, const std::string& model,
                                   std::span<const SafetensorsEntry> entries,
                                   MayDiffer may_differ = MayDiffer::stem_and_head);

} // namespace troupe::training
