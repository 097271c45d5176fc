// Every op of the oneDNN engine against the interpreter, in graphs as the passes make them.
#include "graph_runner.hpp"
#include "troupe/nn/builder.hpp"
#include "troupe/nn/compile.hpp"
#include "troupe/nn/passes/scale_loss.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>

using namespace troupe;
using namespace troupe::tests;

namespace {

constexpr float f32_tolerance = 1e-4f;
/// Native products round weights and results as the interpreter does. Widened ones keep the
/// weights' precision: results are nearer to the truth, but now and then a relu or a maximum falls
/// differently, which in tensors as small as these is seen in gradients.
constexpr float native_tolerance = 0.1f, widened_gradient_tolerance = 0.4f;

/// Adds layers to the images and gives a tensor of any shape.
using Body = std::function<TensorId(nn::GraphBuilder&, TensorId)>;

Graph make_graph(const Shape& images, const Body& body, const nn::PassOptions& passes = {},
                 nn::Purpose purpose = nn::Purpose::training) {
  nn::GraphBuilder builder;
  builder.begin_unit("body");
  auto x = builder.input("images", images);
  const auto labels = builder.target("labels", {images[0]}, DType::i32);
  x = body(builder, x);
  builder.begin_unit("head");
  const auto flat = builder.shape(x).rank() == 2 ? x : builder.flatten("flat", x);
  const auto logits = builder.linear("fc", flat, 3);
  builder.softmax_cross_entropy("loss", logits, labels, 0.1f);
  builder.count_correct("correct", logits, labels);
  auto graph = std::move(builder).finish();
  if (!graph)
    FAIL(graph.error().to_string());
  auto prepared = nn::run_passes(*graph, purpose, passes);
  if (!prepared)
    FAIL(prepared.error().to_string());
  return std::move(prepared->graph);
}

void check(const Shape& images, const Body& body, nn::PassOptions passes = {}) {
  const auto graph = make_graph(images, body, passes);
  const auto expected = run_graph(graph, {.engine = CompileOptions::Engine::interpreter});
  for (const int threads : {1, 2}) {
    const auto got = run_graph(graph, {.threads = threads});
    require_close(got.activations, expected.activations, f32_tolerance);
    require_close(got.gradients, expected.gradients, f32_tolerance);
    require_close(got.statistics, expected.statistics, f32_tolerance);
  }
  passes.precision = Precision::amp_bf16;
  const auto mixed = make_graph(images, body, passes);
  const auto truth = run_graph(mixed, {.engine = CompileOptions::Engine::interpreter});
  const auto native = run_graph(mixed, {.bf16 = cpu::Bf16Mode::native});
  require_close_on_average(native.activations, truth.activations, native_tolerance);
  require_close_on_average(native.gradients, truth.gradients, native_tolerance);
  require_close_on_average(native.statistics, truth.statistics, native_tolerance);
  const auto widened = run_graph(mixed, {.bf16 = cpu::Bf16Mode::widened});
  require_close_on_average(widened.gradients, truth.gradients, widened_gradient_tolerance);
  require_close_on_average(widened.statistics, truth.statistics, native_tolerance);
  REQUIRE(std::abs(widened.outputs.loss - truth.outputs.loss) <= 0.02f * truth.outputs.loss);
}

Body convolution(std::int64_t out, Conv2dAttributes attributes) {
  return [=](nn::GraphBuilder& b, TensorId x) {
    // The first convolution gives the second one an input that needs a gradient.
    x = b.conv2d("conv1", x, out, attributes);
    return b.conv2d("conv2", x, out + 16, attributes);
  };
}

/// Both engines multiply gradients by the scale, and nothing else.
void check_loss_scale(const Graph& graph) {
  const auto scaled = nn::scale_loss(graph);
  const auto plain = run_graph(graph, {});
  const auto got = run_graph(scaled, {.loss_scale = 4096});
  const auto truth =
      run_graph(scaled, {.engine = CompileOptions::Engine::interpreter, .loss_scale = 4096});
  require_close(got.gradients, truth.gradients, f32_tolerance);
  REQUIRE(got.outputs.loss == plain.outputs.loss);
  for (const auto& [name, values] : plain.gradients)
    for (std::size_t i = 0; i < values.size(); ++i)
      REQUIRE(got.gradients.at(name)[i] == 4096 * values[i]);
}

} // namespace

TEST_CASE("convolutions of common shapes") {
  check({4, 8, 8, 16}, convolution(16, {3, 1, 1}));
  check({4, 9, 9, 16}, convolution(32, {3, 2, 1}));
  check({2, 8, 8, 32}, convolution(64, {1, 1, 0}));
}

TEST_CASE("convolutions of odd shapes") {
  check({4, 28, 28, 1}, convolution(16, {3, 1, 1}));
  check({2, 33, 31, 3}, convolution(64, {7, 2, 3}));
  check({1, 7, 5, 5}, convolution(7, {3, 1, 1}));
  check({3, 8, 8, 24}, convolution(20, {3, 2, 1}));
  check({3, 7, 7, 17}, convolution(9, {1, 2, 0}));
  check({5, 6, 6, 8}, convolution(8, {1, 1, 0}));
  check({2, 5, 5, 8}, convolution(8, {1, 1, 1}));
  check({2, 9, 9, 8}, convolution(8, {5, 3, 2}));
}

TEST_CASE("batch norm, alone and with relu and add") {
  for (const std::int64_t channels : {1, 3, 16, 20, 96, 600}) {
    const Body body = [&](nn::GraphBuilder& b, TensorId x) {
      x = b.conv2d("conv1", x, channels, {1, 1, 0});
      const auto first = b.relu("relu1", b.batch_norm("bn1", x, true));
      const auto second = b.batch_norm("bn2", b.conv2d("conv2", first, channels, {1, 1, 0}), true);
      return b.batch_norm("bn3", b.relu("relu2", b.add("add", second, first)), true);
    };
    check({4, 5, 7, 3}, body);
    check({4, 5, 7, 3}, body, {.fuse = nn::FusePatterns::all()});
  }
}

TEST_CASE("batch norm of values far from zero") {
  const auto graph = make_graph({8, 16, 16, 3}, [](nn::GraphBuilder& b, TensorId x) {
    x = b.batch_norm("far.bias", b.conv2d("conv", x, 16, {3, 1, 1}), true);
    return b.batch_norm("bn", x, true);
  });
  const auto expected = run_graph(graph, {.engine = CompileOptions::Engine::interpreter});
  const auto got = run_graph(graph, {});
  require_close(got.activations, expected.activations, f32_tolerance);
}

TEST_CASE("pooling") {
  const auto pools = {PoolAttributes{3, 3, 2, 1}, PoolAttributes{2, 2, 2, 0},
                      PoolAttributes{3, 2, 1, 1}, PoolAttributes{5, 4, 4, 0}};
  for (const auto& pool : pools)
    for (const std::int64_t channels : {1, 16, 70}) {
      check({2, 9, 8, 3}, [&](nn::GraphBuilder& b, TensorId x) {
        x = b.max_pool("max", b.conv2d("conv1", x, channels, {3, 1, 1}), pool);
        return x;
      });
      check({2, 9, 8, 3}, [&](nn::GraphBuilder& b, TensorId x) {
        return b.avg_pool("avg", b.conv2d("conv1", x, channels, {3, 1, 1}), pool);
      });
    }
  check({3, 7, 7, 3}, [](nn::GraphBuilder& b, TensorId x) {
    return b.global_avg_pool("pool", b.conv2d("conv1", x, 32, {3, 1, 1}));
  });
}

TEST_CASE("shortcut, relu, add and several consumers") {
  for (const std::int64_t size : {8, 7})
    check({2, size, size, 3}, [](nn::GraphBuilder& b, TensorId x) {
      const auto a = b.conv2d("conv1", x, 6, {3, 1, 1});
      const auto left = b.subsample_pad("shortcut", a, {2, 3, 2});
      const auto right = b.relu("relu", b.conv2d("conv2", a, 11, {3, 2, 1}));
      return b.relu("out", b.add("sum", left, right));
    });
}

TEST_CASE("multilayer perceptron, with and without the fused bias") {
  for (const bool fused : {false, true})
    check({6, 5, 5, 1},
          [](nn::GraphBuilder& b, TensorId x) {
            x = b.flatten("pixels", x);
            x = b.relu("relu1", b.linear("fc1", x, 40));
            return b.relu("relu2", b.linear("fc2", x, 17));
          },
          {.fuse = {.matmul_bias = fused}});
}

TEST_CASE("mean squared error, of labels and of values") {
  for (const auto target : {DType::i32, DType::f32}) {
    nn::GraphBuilder builder;
    builder.begin_unit("all");
    const auto x = builder.input("images", {5, 2, 2, 2});
    const auto y = builder.linear("fc", builder.flatten("flat", x), 4);
    const auto t = target == DType::i32 ? builder.target("labels", {5}, target)
                                        : builder.target("values", {5, 4}, target);
    builder.mean_squared_error("loss", y, t);
    auto forward = std::move(builder).finish();
    REQUIRE(forward);
    const auto prepared = nn::run_passes(*forward, nn::Purpose::training, {});
    REQUIRE(prepared);
    const auto expected =
        run_graph(prepared->graph, {.engine = CompileOptions::Engine::interpreter});
    const auto got = run_graph(prepared->graph, {});
    require_close(got.activations, expected.activations, f32_tolerance);
    require_close(got.gradients, expected.gradients, f32_tolerance);
    check_loss_scale(prepared->graph);
  }
}

TEST_CASE("scaled gradients of cross-entropy") {
  check_loss_scale(make_graph({4, 6, 6, 3}, convolution(8, {3, 1, 1})));
}

TEST_CASE("what other devices' passes make is refused by name") {
  const auto device = cpu::make_host_device(0, 1);
  const auto refused = [&](const nn::PassOptions& passes) {
    const auto compiled =
        device->compile(make_graph({4, 6, 6, 3}, convolution(8, {3, 1, 1}), passes), {});
    return compiled ? std::string{"nothing"} : compiled.error().to_string();
  };
  CHECK(refused({.precision = Precision::amp_fp16})
            .starts_with("unsupported: the oneDNN engine has no f16"));
  CHECK(refused({.input = {.channels = 4}}).find("conv2d as it is fused (conv1)") !=
        std::string::npos);
}

TEST_CASE("evaluation with the running statistics, in the training executable's layout") {
  const auto body = [](bool training) {
    return [=](nn::GraphBuilder& b, TensorId x) {
      x = b.relu("relu1", b.batch_norm("bn1", b.conv2d("conv1", x, 20, {3, 1, 1}), training));
      return b.global_avg_pool("pool",
                               b.batch_norm("bn2", b.conv2d("conv2", x, 32, {3, 2, 1}), training));
    };
  };
  const nn::PassOptions passes{.fuse = nn::FusePatterns::all()};
  const auto training = make_graph({4, 8, 8, 3}, body(true), passes);
  const auto evaluation = make_graph({6, 8, 8, 3}, body(false), passes, nn::Purpose::evaluation);
  const auto device = cpu::make_host_device(0, 2);
  const auto trained = device->compile(training, {.threads = 2});
  REQUIRE(trained);
  const auto expected = run_graph(evaluation, {.engine = CompileOptions::Engine::interpreter});
  for (const auto* layout : {static_cast<const StorageLayout*>(nullptr), &(*trained)->layout()}) {
    const auto got = run_graph(evaluation, {.layout = layout});
    require_close(got.activations, expected.activations, f32_tolerance);
  }
}
