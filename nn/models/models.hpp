/// Models by name, and what configs may say of them.
///
/// Every graph has the tensors of its InputSpec, as images (N, H, W, C) and labels (N, i32), then
/// logits (N, outputs), loss and, where the target is labels, correct. Parameters and statistics of
/// ResNets have the names of torchvision's. Units are "stem", one for every residual block
/// ("layer1.0") or hidden layer, and "head".
///
/// Language models take tokens and labels (N, T), give loss and no logits, have Hugging Face's
/// names, and units "embedding", one for every block ("transformer.h.0"), and "head".
#pragma once

#include "core/config/training.hpp"
#include "core/config/validate.hpp"
#include "core/error.hpp"
#include "core/graph/graph.hpp"
#include "nn/models/input.hpp"

#include <cstdint>

namespace troupe::nn {

struct ModelOptions {
  InputSpec input = {};
  std::int64_t batch = 1;
  /// Batch norm with the batch's statistics; false gives the graph for evaluation, with the same
  /// parameters and statistics.
  /// Language models drop elements, whose keys are the last tensor of the batch.
  bool training = true;
  float label_smoothing = 0.0f; ///< cross_entropy only
};

/// Keys that do not fit the model, each other or the data. None for a model that there is not: the
/// rule of model.name refuses it.
ConfigConflicts find_conflicts(const ModelConfig& model, const InputSpec& input);

/// The forward graph with its loss. With mean_squared_error, labels stand for one-hot vectors.
/// Errors: invalid_input for an unknown model, stem or loss (names the nearest), for conflicts as
/// above, and for samples that the model cannot take.
Result<Graph> build_model(const ModelConfig& model, const ModelOptions& options);

} // namespace troupe::nn
