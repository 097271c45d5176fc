/// Graphs with every op in the shapes that engines treat differently.
#pragma once

#include "nn/compile.hpp"

#include <functional>
#include <string>
#include <vector>

namespace troupe::nn {
class GraphBuilder;
}

namespace troupe::testing {

/// Adds layers to the images and gives a tensor of any shape.
using Body = std::function<TensorId(nn::GraphBuilder&, TensorId)>;

/// Body, linear layer, cross-entropy with label smoothing; its second label is ignored. Requires
/// that the passes succeed (Catch2).
nn::PreparedModel make_model(const Shape& images, const Body& body,
                             const nn::PassOptions& passes = {},
                             nn::PassMode pass_mode = nn::PassMode::training);

/// Linear layer, mean squared error with labels (i32) or values (f32).
nn::PreparedModel squared_error(DType target, const nn::PassOptions& passes);

/// A small language model with every op that such models have, of sequences of this many tokens:
/// one block with rotary positions and heads that share keys and values, one whose queries, keys
/// and values are one tensor, and a head that has the embedding's table.
nn::PreparedModel language_model(std::int64_t sequence, const nn::PassOptions& passes);

/// The same model as it goes on with sequences by so many tokens: with caches of `sequence` + 8
/// places, and logits.
nn::PreparedModel generating_model(std::int64_t sequence, nn::PassOptions passes);

/// Two convolutions: the first gives the second one an input that needs a gradient.
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
