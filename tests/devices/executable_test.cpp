// Tests the contract of executables on the device that the program was linked with.
#include "nn/builder.hpp"
#include "tests/devices/compare.hpp"
#include "tests/devices/op_cases.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A residual block over padded images, in three units, for training or for evaluation.
Body residual_block(bool training) {
  return [=](nn::GraphBuilder& b, TensorId x) {
    x = b.relu("relu1", b.batch_norm("bn1", b.conv2d("conv1", x, 16, {3, 1, 1}), training));
    b.begin_unit("block");
    auto y = b.relu("relu2", b.batch_norm("bn2", b.conv2d("conv2", x, 16, {3, 1, 1}), training));
    y = b.batch_norm("bn3", b.conv2d("conv3", y, 16, {3, 1, 1}), training);
    x = b.relu("relu3", b.add("sum", y, x));
    return b.global_avg_pool("pool", x);
  };
}

/// Two layers without a shortcut, with numbers of channels that are not multiples of a vector's
/// length.
Body two_layers(bool training) {
  return [=](nn::GraphBuilder& b, TensorId x) {
    x = b.relu("relu1", b.batch_norm("bn1", b.conv2d("conv1", x, 20, {3, 1, 1}), training));
    return b.global_avg_pool("pool",
                             b.batch_norm("bn2", b.conv2d("conv2", x, 32, {3, 2, 1}), training));
  };
}

nn::PassOptions passes_for(Precision precision) {
  nn::PassOptions passes{
      .fuse = nn::FusePatterns::all(), .precision = precision, .memory = {.alignment = 256}};
  if (const auto channels = test_traits().image_channels; channels > 0)
    passes.input = {compute_type(precision), channels};
  return passes;
}

nn::PreparedModel training_model(Precision precision) {
  return make_model({4, 8, 8, 3}, residual_block(true), passes_for(precision));
}

void require_same_bits(const RunResult& a, const RunResult& b) {
  REQUIRE(a.losses() == b.losses());
  REQUIRE(a.raw_gradients == b.raw_gradients);
  REQUIRE(a.parameters == b.parameters);
  REQUIRE(a.statistics == b.statistics);
}

} // namespace

TEST_CASE("a whole pass equals its units one by one, for any number of runs and batches") {
  const auto device = device_or_skip();
  for (const auto precision : test_traits().precisions) {
    INFO(to_string(precision));
    const auto model = training_model(precision);
    GraphRun run{*device, model.graph, options_for(precision, model.memory)};
    for (const int batches : {1, 2, 3}) {
      Steps steps{.count = 3 * batches + 1, .batches = batches, .learn = true};
      const auto apart = run(steps);
      steps.whole = true;
      const auto whole = run(steps), again = run(steps);
      require_same_bits(whole, apart);
      require_same_bits(again, apart);
      for (const auto& step : whole.steps)
        REQUIRE(step["loss"] > 0);
    }
  }
}

TEST_CASE("a pass of timed steps gives the same bits, and one time for each node") {
  const auto device = device_or_skip();
  for (const auto precision : test_traits().precisions) {
    INFO(to_string(precision));
    const auto model = training_model(precision);
    GraphRun run{*device, model.graph, options_for(precision, model.memory)};
    const auto timed = run({.count = 2, .timed = true, .learn = true});
    require_same_bits(timed, run({.count = 2, .learn = true}));
    std::vector<int> times(model.graph.nodes.size());
    for (const auto& step : timed.times) {
      CHECK_FALSE(step.name.empty());
      CHECK(step.time.count() >= 0);
      if (step.node)
        ++times.at(*step.node);
    }
    CHECK(times == std::vector<int>(times.size(), 1));
  }
}

TEST_CASE("whole passes have the interpreter's losses") {
  const auto device = device_or_skip();
  const Steps steps{.count = 6, .batches = 2, .whole = true, .learn = true};
  for (const auto precision : test_traits().precisions) {
    INFO(to_string(precision));
    const auto model = training_model(precision);
    const auto reference = run_reference(model.graph, options_for(precision), steps);
    const auto got = run_graph(*device, model.graph, options_for(precision, model.memory), steps);
    require_same_losses(got, reference, precision, Depth::deep);
    const auto relative = precision == Precision::fp32 ? 1e-4f : 13 * epsilon(precision);
    require_close_on_average(got.parameters, reference.parameters, relative);
    require_close_on_average(got.statistics, reference.statistics, 4 * relative);
  }
}

TEST_CASE("gradients are multiplied by the loss scale") {
  const auto device = device_or_skip();
  for (const auto precision : test_traits().precisions) {
    if (!scales_loss(precision))
      continue;
    const auto model = training_model(precision);
    GraphRun run{*device, model.graph, options_for(precision)};
    const auto small = run({.loss_scale = 512}), large = run({.loss_scale = 2048});
    REQUIRE(small.outputs["loss"] == large.outputs["loss"]);
    auto expected = small.gradients;
    for (auto& [name, values] : expected)
      for (auto& value : values)
        value *= 4;
    // Only gradients that underflow with the smaller scale differ.
    require_close_on_average(large.gradients, expected, epsilon(precision));
  }
}

TEST_CASE("evaluation with running statistics works in the training executable's layout") {
  const auto device = device_or_skip();
  for (const auto precision : test_traits().precisions)
    for (const auto body : {residual_block, two_layers}) {
      INFO(to_string(precision));
      const auto passes = passes_for(precision);
      const auto training = make_model({4, 8, 8, 3}, body(true), passes),
                 evaluation =
                     make_model({6, 8, 8, 3}, body(false), passes, nn::PassMode::evaluation);
      const GraphRun trained{*device, training.graph, options_for(precision)};
      const auto reference = run_reference(evaluation.graph, options_for(precision));
      for (const auto* layout : {static_cast<const StorageLayout*>(nullptr), &trained.layout()}) {
        auto options = options_for(precision);
        options.layout = layout;
        require_same_pass(run_graph(*device, evaluation.graph, options), reference, precision);
      }
    }
}
