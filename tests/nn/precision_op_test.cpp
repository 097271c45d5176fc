// Tests that every op of the interpreter in f16 and bf16 gives the result in f32 over the same
// values, rounded once.
#include "core/float16.hpp"
#include "nn/builder.hpp"
#include "nn/shape_rules.hpp"
#include "tests/devices/op_cases.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cmath>
#include <set>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;
using testing::make_model;

namespace {

/// Half of the distance between neighbouring values, relative to them, and half of the distance
/// between the smallest values.
struct Rounding {
  float relative, smallest;
};

Rounding rounding_of(DType type) {
  return type == DType::f16 ? Rounding{0x1p-11f, 0x1p-25f} : Rounding{0x1p-8f, 0x1p-134f};
}

std::vector<float> rounded_to(DType type, std::vector<float> values) {
  for (float& value : values)
    if (type == DType::f16)
      value = float_from_f16(f16_from_float(value));
    else if (type == DType::bf16)
      value = float_from_bf16(bf16_from_float(value));
  return values;
}

/// Returns a graph of one node in f32.
Graph alone_in_f32(const Graph& graph, const Node& node) {
  Graph alone;
  alone.units = {"unit"};
  auto copy = node;
  for (auto* ids : {&copy.inputs, &copy.outputs})
    for (auto& id : *ids) {
      auto tensor = graph[id];
      if (tensor.dtype != DType::i32)
        tensor.dtype = DType::f32;
      id = alone.find(tensor.name).value_or(static_cast<TensorId>(alone.tensors.size()));
      if (static_cast<std::size_t>(id) == alone.tensors.size())
        alone.add_tensor(std::move(tensor));
    }
  alone.add_node(std::move(copy));
  return alone;
}

/// Whether an op also rounds intermediate values: a prologue's result, and values of which
/// statistics are taken.
bool rounds_inside(const Node& node) {
  if (const auto* pool = std::get_if<PoolAttributes>(&node.attributes))
    return pool->prologue;
  if (const auto* norm = std::get_if<BatchNormAttributes>(&node.attributes))
    return norm->pooled.has_value();
  const auto* a = std::get_if<Conv2dAttributes>(&node.attributes);
  return a && (a->prologue || a->statistics || a->batch_norm_relu);
}

void require_rounded(const Node& node, const Tensor& tensor, const std::vector<float>& got,
                     const std::vector<float>& exact, DType computed) {
  REQUIRE(got.size() == exact.size());
  if (tensor.dtype == DType::i32 && rounds_inside(node))
    return; // rounding makes values equal, and the first of equal values is the largest
  const auto type = rounding_of(computed);
  float largest = 0;
  for (const float value : exact)
    largest = std::max(largest, std::abs(value));
  const bool is_sum = tensor.dtype == DType::f32 && node.op != Op::cast;
  const auto bound = [&](float value) {
    const float once = type.relative * 1.001f * std::abs(value) + type.smallest;
    if (rounds_inside(node))
      return once + 4 * type.relative * largest;
    return is_sum ? 1e-6f * largest : once;
  };
  std::size_t i = 0;
  while (i < got.size() && std::abs(got[i] - exact[i]) <= bound(exact[i]))
    ++i;
  if (i < got.size())
    FAIL(to_string(node.op) << ", " << tensor.name << "[" << i << "]: " << got[i] << ", in f32 "
                            << exact[i] << ", largest " << largest);
}

/// Runs a graph and compares each of its nodes with the node in f32. Returns the graph's ops.
std::set<Op> check(const Graph& graph) {
  std::set<Op> seen;
  GraphRunner run{graph};
  run.fill(3);
  for (const auto& node : graph.nodes) {
    GraphRunner exact{alone_in_f32(graph, node)};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto& name = graph[node.inputs[i]].name;
      // Labels are small numbers, which rounding does not change.
      exact.set(name, rounded_to(read_type(graph, node, i), run.get(name)));
    }
    run.run(node);
    exact.run();
    for (const auto id : node.outputs)
      require_rounded(node, graph[id], run.get(graph[id].name), exact.get(graph[id].name),
                      node.op == Op::batch_norm_finalize ? graph[id].dtype
                                                         : computed_type(graph, node));
    seen.insert(node.op);
  }
  return seen;
}

/// Batch norm fused with the convolutions around it, also at the end of a block.
PreparedModel joined_batch_norm(Precision precision) {
  return make_model(
      {4, 5, 7, 3},
      [](GraphBuilder& b, TensorId x) {
        x = b.relu("relu1", b.batch_norm("bn1", b.conv2d("conv1", x, 8, {3, 1, 1}), true));
        const auto y = b.batch_norm("bn2", b.conv2d("conv2", x, 8, {3, 1, 1}), true);
        x = b.relu("relu2", b.add("add", y, x));
        return b.batch_norm("bn3", b.conv2d("conv3", x, 16, {1, 1, 0}), true);
      },
      {.fuse = FusePatterns::all(),
       .precision = precision,
       .fuse_statistics = {[](const Graph&, const Node&) { return 0.0; }}});
}

/// Batch norm fused with the pooling after it, when no convolution computes sums.
PreparedModel pooled_batch_norm(Precision precision) {
  return make_model(
      {4, 5, 7, 3},
      [](GraphBuilder& b, TensorId x) {
        x = b.relu("relu", b.batch_norm("bn", b.conv2d("conv", x, 8, {3, 1, 1}), true));
        return b.max_pool("pool", x, {.kernel_h = 3, .kernel_w = 3, .stride = 2, .padding = 1});
      },
      {.fuse = FusePatterns::all(),
       .precision = precision,
       .fuse_statistics = {[](const Graph&, const Node& node) -> std::optional<double> {
         return node.op == Op::conv2d ? std::nullopt : std::optional{0.0};
       }}});
}

} // namespace

TEST_CASE("every op in f16 and bf16 equals the op in f32, rounded once") {
  const auto precision =
      GENERATE(Precision::amp_fp16, Precision::amp_bf16, Precision::fp16, Precision::bf16);
  INFO(to_string(precision));
  std::set<Op> seen;
  for (const auto& one : testing::all_op_cases()) {
    INFO(one.name);
    seen.merge(check(one.model({.precision = precision}).graph));
  }
  seen.merge(check(joined_batch_norm(precision).graph));
  seen.merge(check(pooled_batch_norm(precision).graph));
  seen.merge(check(testing::squared_error(DType::i32, {.precision = precision}).graph));
  seen.merge(check(testing::language_model(5, {.precision = precision}).graph));
  seen.merge(check(testing::generating_model(5, {.precision = precision}).graph));
  for (const auto op : all_ops) {
    INFO(to_string(op));
    CHECK(seen.contains(op));
  }
}
