/// Values of a model's parameters and statistics from a file of any origin: matched by name first,
/// then read one tensor at a time.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "core/graph/graph.hpp"
#include "inference/saved_model.hpp"
#include "nn/passes/fold_batch_norm.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::inference {

class ModelWeights {
public:
  /// Matches a state with a graph. The state must contain all parameters and statistics, in the
  /// graph's shapes, and nothing else except what match_weights ignores. Errors: invalid_input,
  /// with the first ten mismatches.
  static Result<ModelWeights> match(const Graph& graph, const std::string& model,
                                    StateSourcePtr source);

  /// Makes read() return the values of a graph that went through fold_batch_norm.
  void fold(const std::vector<nn::BatchNormFolding>& foldings);

  /// Returns row-major values by the graph's name. Errors: internal for an unknown name; those of
  /// StateSource::read.
  Result<std::vector<float>> read(std::string_view name) const;
  bool has(std::string_view name) const { return places_.find(name) != places_.end(); }
  const Shape& shape(std::string_view name) const;
  /// Parameters first, in the order of the graph.
  const std::vector<std::string>& names() const { return names_; }

private:
  Result<std::vector<float>> read_stored(std::string_view name) const;

  StateSourcePtr source_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> places_; ///< index in the source, by name
  /// By the names of their weights and of their shifts.
  std::map<std::string, nn::BatchNormFolding, std::less<>> foldings_;
};

/// Matches a saved model's weights with its graph. Errors: as ModelWeights::match, with the file.
Result<ModelWeights> weights_of(const SavedModel& model);

} // namespace troupe::inference
