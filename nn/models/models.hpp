/// Builds models by name and checks their configs.
///
/// Every graph has the tensors of its InputSpec, such as images (N, H, W, C) and labels (N, i32),
/// then logits (N, outputs), loss and, if the target is labels, correct. Parameters and statistics
/// of ResNets have torchvision's names. Units are "stem", one for each residual block ("layer1.0")
/// or hidden layer, and "head".
///
/// Language models take tokens and labels (N, T), return a loss and no logits, and have Hugging
/// Face's names. Their units are "embedding", one for each block ("transformer.h.0"), and "head".
#pragma once

#include "core/config/model.hpp"
#include "core/config/validate.hpp"
#include "core/error.hpp"
#include "core/graph/graph.hpp"
#include "nn/models/input.hpp"

#include <cstdint>

namespace troupe::nn {

struct ModelOptions {
  InputSpec input = {};
  std::int64_t batch = 1;
  /// If true, batch norm uses the batch's statistics, and language models apply dropout, with its
  /// keys in the last tensor of the batch. If false, the graph is for evaluation, with the same
  /// parameters and statistics.
  bool training = true;
  float label_smoothing = 0.0f; ///< only with cross_entropy
};

/// Returns conflicts of keys with the model, each other or the data. Returns none for an unknown
/// model, which the rule of model.name refuses.
ConfigConflicts find_conflicts(const ModelConfig& model, const InputSpec& input);

/// Returns the forward graph with its loss. With mean_squared_error, labels stand for one-hot
/// vectors. Errors: invalid_input for an unknown model, stem or loss (with a suggestion), for
/// conflicts as above, and for samples that the model cannot take.
Result<Graph> build_model(const ModelConfig& model, const ModelOptions& options);

} // namespace troupe::nn
