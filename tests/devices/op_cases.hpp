/// Graphs with every op, in the shapes that engines treat differently.
#pragma once

#include "nn/compile.hpp"

#include <functional>
#include <string>
#include <vector>

namespace troupe::nn {
class GraphBuilder;
}

namespace troupe::testing {

/// Adds layers to the images and returns a tensor of any shape.
using Body = std::function<TensorId(nn::GraphBuilder&, TensorId)>;

/// Builds the body, a linear layer and cross-entropy with label smoothing; the second label is
/// ignored. Requires that the passes succeed (Catch2).
nn::PreparedModel make_model(const Shape& images, const Body& body,
                             const nn::PassOptions& passes = {},
                             nn::PassMode pass_mode = nn::PassMode::training);

/// Builds a linear layer and mean squared error, with labels (i32) or values (f32).
nn::PreparedModel squared_error(DType target, const nn::PassOptions& passes);

/// Builds a small language model with every op of such models, for sequences of this many tokens.
/// One block has rotary positions and heads that share keys and values; in another, queries, keys
/// and values are one tensor; the head uses the embedding's table.
nn::PreparedModel language_model(std::int64_t sequence, const nn::PassOptions& passes);

/// Builds the same model for generation: it continues sequences by `sequence` tokens, with caches
/// of `sequence` + 8 positions, and returns logits.
nn::PreparedModel generating_model(std::int64_t sequence, nn::PassOptions passes);

/// Builds two convolutions: the first gives the second an input that needs a gradient.
Body two_convolutions(std::int64_t out, Conv2dAttributes attributes);

struct OpCase {
  std::string name;
  Shape images;
  Body body;
  nn::FusePatterns fuse = nn::FusePatterns::none();
  RecomputeConfig recompute = {};

  nn::PreparedModel model(nn::PassOptions passes) const;
};

std::vector<OpCase> common_convolutions();
std::vector<OpCase> odd_convolutions();
std::vector<OpCase> batch_norms();
std::vector<OpCase> recomputations();
std::vector<OpCase> poolings();
std::vector<OpCase> shortcuts();
std::vector<OpCase> perceptrons();
std::vector<OpCase> activations();
std::vector<OpCase> layer_norms();
std::vector<OpCase> all_op_cases();

} // namespace troupe::testing
