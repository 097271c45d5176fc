// Compares the gradient of every op of language models with finite differences.
#include "nn/passes/autodiff.hpp"
#include "tests/nn/gradient_check.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

/// Adds a matmul without a bias.
TensorId project(GraphBuilder& b, const std::string& name, TensorId x, std::int64_t out) {
  return b.linear(name, x, out, {.bias = false});
}

/// A model whose head is one op or, as the reference, two. Some labels are ignored.
Graph head(bool in_one, float smoothing) {
  GraphBuilder b;
  b.begin_unit("unit");
  const auto x = project(b, "before", b.input("raw", {6, 3}), 4);
  const auto labels = b.target("labels", {6}, DType::i32);
  const auto weight = b.parameter("head.weight", {9, 4}, {});
  if (in_one)
    b.apply(Op::linear_cross_entropy, "loss", {x, weight, labels},
            LossAttributes{.label_smoothing = smoothing}, {"log_sum_exp", "counted"});
  else
    b.softmax_cross_entropy("loss", b.apply(Op::matmul, "logits", {x, weight}), labels, smoothing);
  const auto forward = std::move(b).finish();
  REQUIRE(forward.has_value());
  auto differentiated = autodiff(*forward);
  REQUIRE(differentiated.has_value());
  return std::move(*differentiated);
}

GraphRunner run_head(bool in_one, float smoothing, const std::vector<std::int32_t>& labels) {
  GraphRunner runner{head(in_one, smoothing)};
  runner.fill(9);
  runner.set_labels("labels", labels);
  runner.run();
  return runner;
}

} // namespace

TEST_CASE("embedding has the right gradient, also for rows that are used twice or never") {
  check_gradients(graph_of({12, 4}, [](GraphBuilder& b, TensorId x) {
    const auto ids = b.target("ids", {3, 4}, DType::i32);
    const auto table = b.parameter("op.weight", {11, 4}, {});
    return b.add("op", x, b.apply(Op::embedding, "rows", {ids, table}));
  }));
}

TEST_CASE("position_embedding has the right gradients, also for unused positions") {
  check_gradients(graph_of({6, 4}, [](GraphBuilder& b, TensorId x) {
    return b.apply(Op::position_embedding, "op", {x, b.parameter("op.weight", {5, 4}, {})},
                   PositionAttributes{.sequence = 3});
  }));
}

TEST_CASE("a shared tensor has the gradients of all units that read it") {
  check_gradients(graph_of({6, 4}, [](GraphBuilder& b, TensorId x) {
    const auto weight = b.parameter("op.weight", {4, 4}, {});
    const auto shared = b.apply(Op::share, "op.weight.shared", {weight});
    x = b.apply(Op::matmul, "first", {x, weight});
    b.begin_unit("other");
    return b.apply(Op::matmul, "second", {x, shared});
  }));
}

TEST_CASE("rms_norm has the right gradients") {
  check_gradients(graph_of({4, 5}, [](GraphBuilder& b, TensorId x) {
    return b.apply(Op::rms_norm, "op", {x, b.parameter("op.weight", {5}, {})}, RmsNormAttributes{},
                   {"saved_inv_rms"});
  }));
}

TEST_CASE("swiglu has the right gradients") {
  check_gradients(graph_of({4, 5}, [](GraphBuilder& b, TensorId x) {
    return b.apply(Op::swiglu, "op", {x, project(b, "up", x, 5)});
  }));
}

TEST_CASE("dropout has the right gradient") {
  check_gradients(graph_of({6, 4}, [](GraphBuilder& b, TensorId x) {
    const auto keys = b.input("keys", {3, 2}, DType::i32);
    return b.apply(Op::dropout, "op", {x, keys}, DropoutAttributes{.rate = 0.5f});
  }));
}

TEST_CASE("rope has the right gradient and keeps lengths and the first row") {
  const auto graph = graph_of({6, 8}, [](GraphBuilder& b, TensorId x) {
    return b.apply(Op::rope, "op", {x},
                   RopeAttributes{.sequence = 3, .heads = 2, .head_dim = 4, .theta = 100});
  });
  check_gradients(graph);
  GraphRunner runner{graph};
  runner.fill();
  runner.run();
  const auto x = runner.get("before"), y = runner.get("op");
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(y[i] == x[i]);
  for (std::size_t head = 0; head < x.size(); head += 4)
    CHECK(std::abs(std::hypot(x[head], x[head + 2]) - std::hypot(y[head], y[head + 2])) < 1e-6f);
}

TEST_CASE("causal_attention has the right gradients, also with shared keys and values") {
  for (const std::int64_t kv_heads : {4, 2, 1}) {
    INFO(kv_heads << " heads of keys and values");
    check_gradients(graph_of({10, 8}, [&](GraphBuilder& b, TensorId x) {
      const AttentionAttributes a{.sequence = 5, .heads = 4, .kv_heads = kv_heads, .head_dim = 2};
      const auto k = project(b, "k", x, 2 * kv_heads), v = project(b, "v", x, 2 * kv_heads);
      return b.apply(Op::causal_attention, "op", {x, k, v}, a, {"log_sum_exp"});
    }));
  }
}

TEST_CASE("causal_attention accepts queries, keys and values in one tensor") {
  check_gradients(graph_of({10, 8}, [](GraphBuilder& b, TensorId x) {
    const AttentionAttributes a{.sequence = 5, .heads = 2, .kv_heads = 1, .head_dim = 2};
    return b.apply(Op::causal_attention, "op", {x}, a, {"log_sum_exp"});
  }));
}

TEST_CASE("linear_cross_entropy equals softmax_cross_entropy of a product") {
  for (const float smoothing : {0.0f, 0.1f}) {
    const std::vector<std::int32_t> labels = {0, -1, 8, 3, 3, -100};
    const auto one = run_head(true, smoothing, labels), two = run_head(false, smoothing, labels);
    for (const std::string name :
         {"loss", "loss.counted", "head.weight.grad", "before.weight.grad"}) {
      INFO(name << ", smoothing " << smoothing);
      CHECK(relative_error(one.get(name), two.get(name)) < 1e-6);
    }
  }
}

TEST_CASE("linear_cross_entropy without labels has no loss and no gradient") {
  const auto runner = run_head(true, 0.1f, std::vector<std::int32_t>(6, -1));
  CHECK(runner.get("loss")[0] == 0);
  for (const float d : runner.get("head.weight.grad"))
    CHECK(d == 0);
}

TEST_CASE("ops of language models report inputs that do not fit") {
  GraphBuilder b;
  b.begin_unit("unit");
  const auto x = b.input("x", {10, 12});
  b.apply(Op::causal_attention, "op", {x},
          AttentionAttributes{.sequence = 4, .heads = 2, .kv_heads = 1, .head_dim = 3});
  const auto graph = std::move(b).finish();
  REQUIRE_FALSE(graph.has_value());
  CHECK(graph.error().message == "op: causal_attention: q, k and v has 10 rows, which is not a "
                                 "multiple of the sequence length 4");
}
