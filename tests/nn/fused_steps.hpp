/// Training steps of graphs that fuse_statistics and fuse_block_ends have rewritten, beside those
/// of graphs as they were.
#pragma once

#include "nn/compile.hpp"

#include <functional>

namespace troupe::nn::test {

using Predicate = std::function<bool(const Node&)>;

/// Whatever runs takes no time.
FusionSupport supports(std::function<bool(const Graph&, const Node&)> runs);
/// All but these nodes run.
FusionSupport all_but(const Predicate& refused);
extern const FusionSupport everything;
/// Supports each node with a chance of 3 in 4, by its first output's name and what it would be.
FusionSupport by_chance(std::uint64_t seed);

Graph forward_of(const std::string& name, std::int64_t image_size, std::int64_t batch,
                 const char* stem = "imagenet");
/// A small ResNet-50: all that its blocks have, and batch norms over 64 values and more.
Graph small_bottlenecks();

/// Through all passes; fails the test where they fail.
PreparedModel prepared(const Graph& forward, const FusionSupport& runs,
                       Precision precision = Precision::fp32, const PlanOptions& memory = {},
                       const RecomputeConfig& recompute = {});

std::ptrdiff_t count(const Graph& graph, const Predicate& what);
bool has(const Node& node, bool Conv2dAttributes::*flag);
/// A convolution at a block's end, or the gradient of one's input.
bool ends_block(const Node& node);
/// What finish_block_ends makes: gives or reads a mask, or adds up gradients.
bool finishes_end(const Node& node);
/// All but what stands at the ends of blocks, which have tests of their own.
extern const FusionSupport without_ends;

constexpr double f32_tolerance = 1e-4;

/// Logits, loss, gradients and statistics agree, each relative to its largest value.
void check_same_step(const Graph& plain, const Graph& fused, double tolerance);
/// How far these are from those of `exact`, relative to their norms, on average over all tensors:
/// single values of f16 steps are a matter of which relu is on which side.
double distance(const Graph& graph, const Graph& exact);

} // namespace troupe::nn::test
