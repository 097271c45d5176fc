// Compares whole training graphs with the patterns that cuDNN offers on GPUs that are only
// described.
#include "core/config/config.hpp"
#include "gpu/lowering/fusion.hpp"
#include "nn/compile.hpp"
#include "tests/gpu/cudnn_fixture.hpp"
#include "tests/gpu/fusion_support.hpp"
#include "tests/gpu/missing_plan.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::testing;

namespace {

struct Counts {
  int statistics = 0, prologues = 0, masked_data = 0, normalized_filters = 0, whole_batch_norms = 0;
  /// Fused block ends, where the added tensor is plain or normalized.
  int plain_ends = 0, normalized_ends = 0, plain_gradients = 0, normalized_gradients = 0;
  int adds = 0, whole_gradients = 0, applied = 0; ///< nodes that are not fused
};

Counts count(const Graph& graph) {
  Counts counts;
  for (const auto& node : graph.nodes) {
    counts.whole_batch_norms += node.op == Op::batch_norm;
    counts.whole_gradients += node.op == Op::batch_norm_backward;
    counts.applied += node.op == Op::scale_shift;
    counts.adds += node.op == Op::add;
    const auto* const conv = std::get_if<Conv2dAttributes>(&node.attributes);
    if (!conv)
      continue;
    counts.statistics += node.op == Op::conv2d && conv->statistics;
    counts.prologues += rung_of(node) == Rung::prologue && node.op == Op::conv2d;
    counts.masked_data += rung_of(node) == Rung::mask_and_sums;
    const bool normalized = conv->residual == Residual::normalized;
    counts.plain_ends += rung_of(node) == Rung::end && !normalized;
    counts.normalized_ends += rung_of(node) == Rung::end && normalized;
    counts.plain_gradients += rung_of(node) == Rung::end_gradient && !normalized;
    counts.normalized_gradients += rung_of(node) == Rung::end_gradient && normalized;
    counts.normalized_filters += node.op == Op::conv2d_backward_weight && conv->prologue;
  }
  return counts;
}

struct Network {
  std::shared_ptr<gpu::PlanRegistry> plans;
  nn::PreparedModel model;
};

Network prepare(Config config, const std::string& device, std::int64_t batch, bool fused) {
  const auto precision = config.precision.mode;
  auto plans = std::make_shared<gpu::PlanRegistry>(described_gpu(device));
  nn::PassOptions passes{.fuse = nn::FusePatterns::all(), .input = {compute_type(precision), 4}};
  if (fused)
    passes.fuse_statistics = wherever_it_runs(gpu::fusion_times(*plans, gpu::policy_of({})));
  auto model = nn::prepare_model(config, batch, nn::PassMode::training, passes);
  if (!model)
    FAIL(model.error().to_string());
  return {std::move(plans), *std::move(model)};
}

/// ResNet-50 at 224 pixels, batch 128.
Network resnet50(const std::string& device, Precision precision, bool fused) {
  Config config;
  config.model.name = "resnet50";
  config.model.stem = Stem::imagenet;
  config.data.image_size = 224;
  config.precision.mode = precision;
  return prepare(config, device, 128, fused);
}

/// ResNet-18 for CIFAR, batch 512.
Network resnet18(const std::string& device) {
  Config config;
  config.model.name = "resnet18";
  config.model.stem = Stem::cifar;
  config.data.image_size = 32;
  config.precision.mode = Precision::amp_fp16;
  return prepare(config, device, 512, true);
}

void require_plans(const Network& network) {
  REQUIRE_THAT(missing_plan(*network.plans, gpu::policy_of({}), network.model.graph),
               Catch::Matchers::Equals(""));
}

} // namespace

TEST_CASE("in fp16 on Hopper ResNet-50 normalizes inside its convolutions") {
  for (const auto* device : {"h200", "h100_sxm"}) {
    const auto network = resnet50(device, Precision::amp_fp16, true);
    const auto counts = count(network.model.graph);
    // All of the 53 convolutions but the stem's have an engine with sums. In each of the 16 blocks,
    // two convolutions read the result of a batch norm and ReLU.
    CHECK(counts.statistics == 52);
    CHECK(counts.whole_batch_norms == 0); // the stem's is split for its pooling
    CHECK(counts.prologues == 32);
    CHECK(counts.masked_data == 32);
    CHECK(counts.normalized_filters == 32);
    require_plans(network);
  }
}

TEST_CASE("in fp16 on Hopper the block ends of ResNet-50 are fused into the next blocks") {
  for (const auto* device : {"h200", "h100_sxm"}) {
    const auto counts = count(resnet50(device, Precision::amp_fp16, true).model.graph);
    // Four of the 16 blocks add a batch norm. No convolution follows the last block.
    CHECK(counts.plain_ends == 11);
    CHECK(counts.normalized_ends == 4);
    CHECK(counts.plain_gradients == 11);
    CHECK(counts.normalized_gradients == 4);
    CHECK(counts.applied == 1);
    CHECK(counts.whole_gradients == 2); // of the last block and of the stem
    CHECK(counts.adds == 1);            // the first block reads the stem's pooled result
  }
}

TEST_CASE("ResNet-18 fuses gradients of block ends where the stride is 1, and no block ends") {
  const auto network = resnet18("h200");
  const auto counts = count(network.model.graph);
  // Blocks end before 3x3 convolutions, which have no such prologue; three of these halve the
  // image. The stem's batch norm is not split, so other units cannot have its parameters.
  CHECK(counts.plain_ends + counts.normalized_ends == 0);
  CHECK(counts.plain_gradients == 1);
  CHECK(counts.normalized_gradients == 3);
  require_plans(network);
}

TEST_CASE("operations that cuDNN does not fuse stay separate and have plans") {
  for (const auto precision : {Precision::fp32, Precision::amp_bf16}) {
    const auto network = resnet50("h200", precision, true);
    CHECK(count(network.model.graph).masked_data == 0);
    require_plans(network);
  }
}

TEST_CASE("a fused ResNet-50 stores fewer activations") {
  const auto fused = resnet50("h200", Precision::amp_fp16, true).model.memory.arena_bytes;
  const auto apart = resnet50("h200", Precision::amp_fp16, false).model.memory.arena_bytes;
  CAPTURE(fused >> 20, apart >> 20);
  CHECK(static_cast<double>(fused) < 0.87 * static_cast<double>(apart));
}
