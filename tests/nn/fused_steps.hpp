/// Compares training steps of graphs rewritten by fuse_statistics and fuse_block_ends with steps of
/// the original graphs.
#pragma once

#include "nn/compile.hpp"

#include <functional>

namespace troupe::nn::test {

using Predicate = std::function<bool(const Node&)>;

/// Supports every fusion that `runs` accepts, at no cost.
FusionSupport supports(std::function<bool(const Graph&, const Node&)> runs);
/// Supports all nodes except those for which `refused` returns true.
FusionSupport all_but(const Predicate& refused);
extern const FusionSupport everything;
/// Supports each node with probability 3/4; the choice depends on the name of its first output and
/// on the fused node.
FusionSupport by_chance(std::uint64_t seed);

Graph forward_of(const std::string& name, std::int64_t image_size, std::int64_t batch,
                 Stem stem = Stem::imagenet);
/// A small ResNet-50 that has all kinds of its blocks, and batch norms over 64 values and more.
Graph small_bottlenecks();

/// Runs all passes; fails the test when one fails.
PreparedModel prepared(const Graph& forward, const FusionSupport& runs,
                       Precision precision = Precision::fp32, const PlanOptions& memory = {},
                       const RecomputeConfig& recompute = {});

std::ptrdiff_t count(const Graph& graph, const Predicate& what);
bool has(const Node& node, bool Conv2dAttributes::*flag);
/// Whether a node is a convolution at a block's end, or the gradient of such a convolution's input.
bool ends_block(const Node& node);
/// Whether finish_block_ends creates such a node: it writes or reads a mask, or adds gradients.
bool finishes_end(const Node& node);
/// Supports all nodes but those at block ends, which have separate tests.
extern const FusionSupport without_ends;

constexpr double f32_tolerance = 1e-4;

/// Requires that logits, loss, gradients and statistics agree, each relative to its largest value.
void check_same_step(const Graph& plain, const Graph& fused, double tolerance);
/// Returns the distance from the results of `exact`, relative to their norms, averaged over all
/// tensors: single values of f16 steps depend on the side of a relu that a rounded value falls on.
double distance(const Graph& graph, const Graph& exact);

} // namespace troupe::nn::test
