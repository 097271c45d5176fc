/// The values of a model's parameters and statistics, from anybody's file: matched by name first,
/// then read a tensor at a time.
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
  /// All parameters and statistics of the graph must be there, in their shapes, and nothing else
  /// but what match_weights leaves out. Errors: invalid_input, with the first ten that do not fit.
  static Result<ModelWeights> match(const Graph& graph, const std::string& model,
                                    StateSourcePtr source);

  /// From now on values are those of a graph that went through fold_batch_norm.
  void fold(const std::vector<nn::BatchNormFolding>& foldings);

  /// Row-major values by the graph's name. Errors: internal for an unknown name; of
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
  std::map<std::string, std::size_t, std::less<>> places_; ///< in the source, by name
  /// By the names of their weights and of their shifts.
  std::map<std::string, nn::BatchNormFolding, std::less<>> foldings_;
};

/// Those of a saved model, matched with its graph. Errors: as ModelWeights::match, with the file.
Result<ModelWeights> weights_of(const SavedModel& model);

} // namespace troupe::inference
