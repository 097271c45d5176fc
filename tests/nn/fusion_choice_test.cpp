// Tests that fuse_statistics fuses nodes when that is faster by the device's times.
#include "tests/nn/fused_steps.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <map>

using namespace troupe;
using namespace troupe::nn;
using test::ends_block;

namespace {

bool is_fused(const Node& node) {
  const auto* const a = std::get_if<Conv2dAttributes>(&node.attributes);
  return a && (a->statistics || a->prologue || a->batch_norm_relu);
}

bool Conv2dAttributes::*const every_flag[] = {
    &Conv2dAttributes::statistics, &Conv2dAttributes::prologue, &Conv2dAttributes::batch_norm_relu};

/// Returns the number of nodes with a flag.
std::ptrdiff_t count(const Graph& graph, bool Conv2dAttributes::*flag) {
  return std::ranges::count_if(graph.nodes, [flag](const Node& node) {
    const auto* const a = std::get_if<Conv2dAttributes>(&node.attributes);
    return a && a->*flag;
  });
}

PreparedModel prepared(const ModelConfig& config, std::int64_t image_size, std::int64_t batch,
                       const FusionSupport& support, Precision precision) {
  const auto forward = build_model(config, {.input = image_input(image_size), .batch = batch});
  REQUIRE(forward);
  auto ready =
      run_passes(*forward, PassMode::training,
                 {.fuse = FusePatterns::all(), .precision = precision, .fuse_statistics = support});
  REQUIRE(ready);
  return std::move(*ready);
}

Graph fused(const FusionSupport& support) {
  ModelConfig config;
  config.name = "resnet20";
  config.stem = Stem::cifar;
  return prepared(config, 8, 2, support, Precision::fp32).graph;
}

/// An unfused node costs 10, a node with this flag `microseconds`, and nodes with other flags 0. As
/// in cuDNN, no convolution has only a prologue.
FusionSupport with(bool Conv2dAttributes::*flag, double microseconds) {
  return {[=](const Graph&, const Node& node) -> std::optional<double> {
    if (!is_fused(node))
      return 10;
    if (ends_block(node))
      return std::nullopt;
    const auto& attributes = std::get<Conv2dAttributes>(node.attributes);
    if (node.op == Op::conv2d && attributes.prologue && !attributes.statistics)
      return std::nullopt;
    return attributes.*flag ? microseconds : 0;
  }};
}

} // namespace

TEST_CASE("a convolution that would be slower when fused is unchanged") {
  for (const auto flag : every_flag) {
    CHECK(count(fused(with(flag, 0)), flag) > 0);
    CHECK(count(fused(with(flag, 1000)), flag) == 0);
  }
}

TEST_CASE("a fusion is chosen by the total time of all nodes that it changes") {
  // Statistics: convolution, finalize and scale_shift replace convolution and batch norm.
  CHECK(count(fused(with(&Conv2dAttributes::statistics, 0)), &Conv2dAttributes::statistics) == 19);
  CHECK(count(fused(with(&Conv2dAttributes::statistics, 1)), &Conv2dAttributes::statistics) == 0);
  // Mask and sums: two nodes replace two.
  constexpr auto masked = &Conv2dAttributes::batch_norm_relu;
  CHECK(count(fused(with(masked, 10)), masked) == 9);
  CHECK(count(fused(with(masked, 11)), masked) == 0);
}

TEST_CASE("a block end is fused into the next block if that is not slower") {
  const auto joined = [](double microseconds) {
    const auto graph = fused({[=](const Graph&, const Node& node) -> std::optional<double> {
      return ends_block(node) ? microseconds : node.op == Op::batch_norm ? 30 : 10;
    }});
    return std::ranges::count_if(graph.nodes, ends_block);
  };
  // Forward, one node replaces two; backward, two replace three. This applies to all but the last
  // of 9 blocks, and to the gradient of the stem's batch norm.
  CHECK(joined(20) == 8 + 8 + 1);
  CHECK(joined(21) == 0);
}

TEST_CASE("an unfused alternative that cannot run is not considered") {
  const auto graph = fused({[](const Graph&, const Node& node) -> std::optional<double> {
    if (node.op == Op::batch_norm || node.op == Op::batch_norm_backward)
      return std::nullopt;
    return is_fused(node) ? 1e6 : 1;
  }});
  CHECK(count(graph, &Conv2dAttributes::statistics) == 19);
}

TEST_CASE("each choice is reported with both times and the result") {
  std::map<std::string, int> taken, left;
  auto support = with(&Conv2dAttributes::batch_norm_relu, 11);
  support.chosen = [&](const FusionChoice& choice) {
    const bool of_rows = choice.what == "loss" || choice.what == "bias gradient";
    CHECK(choice.at.shape.rank() == (of_rows ? 2 : 4));
    CHECK(choice.taken == (!choice.apart || choice.fused <= *choice.apart));
    if (choice.what == "mask and sums") {
      CHECK(choice.fused == 21);
      CHECK(choice.apart == 20);
    }
    ++(choice.taken ? taken : left)[std::string{choice.what}];
  };
  fused(support);
  CHECK(left["mask and sums"] == 9);
  CHECK(left.size() == 1);
  CHECK(taken["statistics"] == 19);
  CHECK(taken["prologue"] == 9);
}

TEST_CASE("fused statistics save memory") {
  ModelConfig config;
  config.name = "resnet50";
  config.stem = Stem::imagenet;
  const FusionSupport everything{[](const Graph&, const Node&) { return 0.0; }};
  for (const auto precision : {Precision::fp32, Precision::amp_fp16}) {
    const auto plain = prepared(config, 224, 8, {}, precision).memory.arena_bytes,
               joined = prepared(config, 224, 8, everything, precision).memory.arena_bytes;
    INFO(to_string(precision) << ": " << plain << " bytes, fused " << joined);
    CHECK(static_cast<double>(joined) < 0.86 * static_cast<double>(plain));
  }
}
