// Compares every op of a device with the interpreter, in graphs as the passes make them.
#include "nn/builder.hpp"
#include "nn/passes/annotate.hpp"
#include "tests/devices/compare.hpp"
#include "tests/devices/op_cases.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <set>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Compares a graph on the device with the interpreter: node by node, and as a whole with reused
/// memory.
void check(Device& device, const nn::PreparedModel& model, Precision precision) {
  const auto options = options_for(precision);
  const auto reference = run_reference(model.graph, options);
  require_same_pass(run_graph(device, model.graph, options), reference, precision);
  auto planned = options;
  planned.memory = model.memory;
  auto got = run_graph(device, model.graph, planned, {.count = 3, .whole = true});
  got.activations = reference.activations; // overwritten by later ops
  got.indices = reference.indices;
  got.statistics = reference.statistics; // after three batches
  require_same_pass(got, reference, precision);
}

void check(const std::vector<OpCase>& cases) {
  const auto device = device_or_skip();
  for (const auto precision : test_traits().precisions)
    for (const auto& one : cases) {
      INFO(to_string(precision) << ", " << one.name);
      check(*device, one.model({.precision = precision, .memory = {.alignment = 256}}), precision);
    }
}

/// Removes tensors that only reduced precisions have: the results of casts.
RunResult without_casts(RunResult got, const RunResult& exact) {
  std::erase_if(got.activations,
                [&](const auto& tensor) { return !exact.activations.contains(tensor.first); });
  return got;
}

/// Checks that the device multiplies gradients by the scale and leaves all other values unchanged.
void check_loss_scale(Device& device, const Graph& graph) {
  const auto scaled = nn::scale_loss(graph);
  GraphRun run{device, scaled};
  const auto plain = run({.loss_scale = 1}), got = run({.loss_scale = 4096});
  require_same_pass(plain, run_reference(graph), Precision::fp32);
  require_close(got.gradients, run_reference(scaled, {.loss_scale = 4096}).gradients, 1e-4f);
  REQUIRE(got.outputs["loss"] == plain.outputs["loss"]);
  for (const auto& [name, values] : plain.gradients)
    for (std::size_t i = 0; i < values.size(); ++i)
      REQUIRE(got.gradients.at(name)[i] == 4096 * values[i]);
}

/// Ops without a case here, and the tests that compare them with the interpreter. The host's engine
/// refuses them (tests/cpu/onednn_test.cpp).
constexpr std::pair<Op, std::string_view> compared_elsewhere[] = {
    {Op::batch_norm_statistics, "tests/gpu/networks_test.cpp, where cuDNN gives a stem no sums"},
    {Op::batch_norm_finalize, "tests/gpu/networks_test.cpp, with what cuDNN fuses"},
    {Op::scale_shift, "the same"},
    {Op::batch_norm_input_gradient, "the same"},
};

std::set<Op> compared_here() {
  std::set<Op> ops;
  const auto add = [&](const nn::PreparedModel& model) {
    for (const auto& node : model.graph.nodes)
      ops.insert(node.op);
  };
  for (const auto& one : all_op_cases())
    for (const auto precision : {Precision::fp32, Precision::amp_fp16})
      add(one.model({.precision = precision}));
  add(squared_error(DType::f32, {}));
  add(language_model(3, {}));
  add(generating_model(3, {}));
  return ops;
}

} // namespace

TEST_CASE("every op is compared with the interpreter, in this file or a listed one") {
  const auto here = compared_here();
  for (const auto op : all_ops) {
    INFO(to_string(op));
    const auto* const elsewhere =
        std::ranges::find(compared_elsewhere, op, &std::pair<Op, std::string_view>::first);
    CHECK(here.contains(op) == (elsewhere == std::end(compared_elsewhere)));
  }
}

TEST_CASE("convolutions of common shapes") {
  check(common_convolutions());
}

TEST_CASE("convolutions of odd shapes") {
  check(odd_convolutions());
}

TEST_CASE("batch norm, plain and with relu and add") {
  check(batch_norms());
}

TEST_CASE("recomputed activations") {
  check(recomputations());
}

TEST_CASE("pooling") {
  check(poolings());
}

TEST_CASE("shortcut, relu, add and several readers") {
  check(shortcuts());
}

TEST_CASE("multilayer perceptron, with and without the fused bias") {
  check(perceptrons());
}

TEST_CASE("nonlinear activation functions") {
  check(activations());
}

TEST_CASE("layer norm") {
  check(layer_norms());
}

// 5 rows are fewer than a group of lanes; 70 are more than two tiles of queries.
TEST_CASE("language models") {
  const auto device = device_or_skip();
  if (!test_traits().language_models)
    SKIP("the device has no kernels for them yet");
  for (const auto precision : test_traits().precisions)
    for (const std::int64_t sequence : {1, 5, 32, 70})
      for (const auto& fuse : {nn::FusePatterns::none(), nn::FusePatterns::all()}) {
        INFO(to_string(precision) << ", " << sequence << " tokens"
                                  << (fuse.linear_loss ? ", the loss beside its gradients" : ""));
        check(*device,
              language_model(sequence,
                             {.fuse = fuse, .precision = precision, .memory = {.alignment = 256}}),
              precision);
      }
}

// The sequences already have three tokens. One row, and a few rows, have special kernels.
TEST_CASE("language models that continue sequences with a cache") {
  const auto device = device_or_skip();
  if (!test_traits().language_models)
    SKIP("the device has no kernels for them yet");
  for (const auto precision : test_traits().precisions)
    for (const std::int64_t tokens : {1, 5, 32, 70}) {
      INFO(to_string(precision) << ", " << tokens << " tokens");
      check(*device,
            generating_model(tokens, {.precision = precision, .memory = {.alignment = 256}}),
            precision);
    }
}

// The roundings of each op are tested elsewhere (tests/nn/precision_op_test.cpp); this test covers
// their effect on results. Tensors are so small that a single value on the other side of a relu, or
// another maximum, changes a whole gradient.
TEST_CASE("results in reduced precision match the interpreter in f32 up to rounding") {
  const auto device = device_or_skip();
  for (const auto& one : all_op_cases()) {
    const auto exact = run_reference(one.model({}).graph);
    for (const auto precision : test_traits().precisions) {
      if (compute_type(precision) == DType::f32)
        continue;
      INFO(one.name << ", " << to_string(precision));
      const auto graph = one.model({.precision = precision}).graph;
      require_same_pass(without_casts(run_graph(*device, graph), exact), exact, precision,
                        Depth::deep);
    }
  }
}

TEST_CASE("images in the format that the device's loader writes") {
  const auto device = device_or_skip();
  const auto traits = test_traits();
  for (const auto precision : traits.precisions)
    for (const auto& [images, attributes] :
         {std::pair{Shape{2, 33, 31, 3}, Conv2dAttributes{7, 2, 3}},
          std::pair{Shape{4, 8, 8, 3}, Conv2dAttributes{3, 1, 1}},
          std::pair{Shape{3, 9, 9, 1}, Conv2dAttributes{3, 2, 1}}}) {
      INFO(to_string(precision) << ", " << images.to_string());
      nn::PassOptions passes{.precision = precision, .memory = {.alignment = 256}};
      if (traits.image_channels > 0)
        passes.input = {compute_type(precision), traits.image_channels};
      check(*device, make_model(images, two_convolutions(16, attributes), passes), precision);
    }
}

TEST_CASE("batch norm of values far from zero") {
  const auto device = device_or_skip();
  const auto model = make_model({8, 16, 16, 3}, [](nn::GraphBuilder& b, TensorId x) {
    x = b.batch_norm("far.bias", b.conv2d("conv", x, 16, {3, 1, 1}), true);
    return b.batch_norm("bn", x, true);
  });
  const auto reference = run_reference(model.graph), got = run_graph(*device, model.graph);
  require_close(got.activations, reference.activations, 1e-4f);
}

TEST_CASE("mean squared error, of labels and of values") {
  const auto device = device_or_skip();
  for (const auto precision : test_traits().precisions)
    for (const auto target : {DType::i32, DType::f32}) {
      INFO(to_string(precision) << ", " << to_string(target));
      const auto model =
          squared_error(target, {.precision = precision, .memory = {.alignment = 256}});
      check(*device, model, precision);
      if (precision == Precision::fp32)
        check_loss_scale(*device, model.graph);
    }
}

TEST_CASE("losses that are a fraction of a larger batch's loss") {
  const auto device = device_or_skip();
  for (const double rows : {2.5, 12.0}) {
    INFO(rows << " rows");
    const auto entropy = make_model({4, 6, 6, 3}, two_convolutions(8, {3, 1, 1}),
                                    {.loss_rows = rows, .memory = {.alignment = 256}});
    check(*device, entropy, Precision::fp32);
    for (const auto target : {DType::i32, DType::f32})
      check(*device, squared_error(target, {.loss_rows = rows, .memory = {.alignment = 256}}),
            Precision::fp32);
  }
}

TEST_CASE("scaled gradients of cross-entropy") {
  const auto device = device_or_skip();
  check_loss_scale(*device, make_model({4, 6, 6, 3}, two_convolutions(8, {3, 1, 1})).graph);
}
