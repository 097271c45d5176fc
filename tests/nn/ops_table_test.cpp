// Tests the ops table on graphs that contain every op.
#include "nn/builder.hpp"
#include "nn/ops/record.hpp"
#include "nn/passes/autodiff.hpp"
#include "nn/passes/recompute.hpp"
#include "tests/devices/op_cases.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <optional>
#include <set>

using namespace troupe;
using namespace troupe::nn;

namespace {

Graph with_clones(const Graph& training) {
  TensorSet again(training.tensors.size());
  const Recomputation recomputation{training};
  for (const auto id : recomputation.candidates())
    again[static_cast<std::size_t>(id)] = true;
  return recompute(training, again);
}

/// Returns training graphs with every op, in the shapes that passes produce.
std::vector<Graph> graphs_of_all_ops() {
  const PassOptions mixed{.precision = Precision::amp_bf16};
  auto apart = mixed;
  apart.fuse = FusePatterns::all();
  apart.fuse_statistics = {[](const Graph&, const Node&) { return 0.0; }};
  const auto joined = [](GraphBuilder& b, TensorId x) {
    x = b.relu("relu1", b.batch_norm("bn1", b.conv2d("conv1", x, 8, {3, 1, 1}), true));
    return b.batch_norm("bn2", b.conv2d("conv2", x, 8, {3, 1, 1}), true);
  };
  auto without_sums = apart;
  without_sums.fuse_statistics = {[](const Graph&, const Node& node) -> std::optional<double> {
    return node.op == Op::conv2d ? std::nullopt : std::optional{0.0};
  }};
  const auto pooled = [](GraphBuilder& b, TensorId x) {
    x = b.relu("relu", b.batch_norm("bn", b.conv2d("conv", x, 8, {3, 1, 1}), true));
    return b.max_pool("pool", x, {.kernel_h = 3, .kernel_w = 3, .stride = 2, .padding = 1});
  };
  const auto residual = [](GraphBuilder& b, TensorId x) {
    for (const std::string block : {"a", "b"}) {
      const auto shortcut =
          b.batch_norm(block + ".bn0", b.conv2d(block + ".conv0", x, 8, {1, 1, 0}), true);
      const auto y =
          b.batch_norm(block + ".bn1", b.conv2d(block + ".conv1", x, 8, {1, 1, 0}), true);
      x = b.relu(block + ".relu", b.add(block + ".add", y, block == "a" ? shortcut : x));
      b.begin_unit(block + " ends");
    }
    return b.batch_norm("bn", b.conv2d("conv", x, 8, {1, 1, 0}), true);
  };
  std::vector<Graph> graphs = {
      testing::make_model({4, 5, 7, 3}, joined, apart).graph,
      testing::make_model({4, 5, 7, 3}, residual, apart).graph,
      testing::make_model({4, 5, 7, 3}, pooled, without_sums).graph,
      testing::squared_error(DType::i32, mixed).graph,
      testing::squared_error(DType::f32, mixed).graph,
      with_clones(testing::language_model(5, mixed).graph),
      testing::language_model(5, apart).graph,
      testing::generating_model(5, mixed).graph,
  };
  for (const auto& one : testing::all_op_cases())
    graphs.push_back(with_clones(one.model(mixed).graph));
  return graphs;
}

/// Return the graph with another shape, or another type, of one tensor.
Graph reshaped(Graph graph, TensorId id) {
  graph[id].shape.dims.push_back(2);
  return graph;
}
Graph retyped(Graph graph, TensorId id) {
  graph[id].dtype = DType::u8;
  return graph;
}

std::vector<TensorId> tensors_of(const Node& node) {
  auto ids = node.inputs;
  ids.insert(ids.end(), node.outputs.begin(), node.outputs.end());
  return ids;
}

/// Returns the error of a node that does not fit its graph, or an empty text.
std::string complaint(const Graph& graph, const Node& node) {
  const auto fits = check_node(graph, node);
  return fits ? "" : fits.error().message;
}

/// Returns the forward and backward graph, before any other pass.
Graph differentiated(const testing::OpCase& one) {
  GraphBuilder builder;
  builder.begin_unit("all");
  auto x = one.body(builder, builder.input("images", one.images));
  if (builder.shape(x).rank() != 2)
    x = builder.flatten("flat", x);
  const auto labels = builder.target("labels", {one.images[0]}, DType::i32);
  builder.softmax_cross_entropy("loss", x, labels, 0);
  builder.count_correct("correct", x, labels);
  const auto forward = std::move(builder).finish();
  REQUIRE(forward.has_value());
  const auto graph = autodiff(*forward);
  REQUIRE(graph.has_value());
  return *graph;
}

} // namespace

TEST_CASE("every op refuses tensors of other shapes and types by its name") {
  std::set<Op> ops;
  std::set<std::tuple<Op, std::size_t, std::size_t>> seen; // with the numbers of inputs and outputs
  for (const auto& graph : graphs_of_all_ops())
    for (const auto& node : graph.nodes) {
      CHECK(complaint(graph, node).empty());
      ops.insert(node.op);
      if (!seen.insert({node.op, node.inputs.size(), node.outputs.size()}).second)
        continue;
      for (const auto id : tensors_of(node)) {
        INFO(to_string(node.op) << ", " << graph[id].name);
        const auto name = Catch::Matchers::StartsWith(std::string{to_string(node.op)} + ": ");
        CHECK_THAT(complaint(reshaped(graph, id), node), name);
        if (node.op != Op::cast) // a cast may have any types
          CHECK_THAT(complaint(retyped(graph, id), node), name);
      }
    }
  CHECK(ops.size() == op_count);
}

TEST_CASE("backward ops are only in backward, losses only in forward") {
  for (const auto& graph : graphs_of_all_ops())
    for (const auto& node : graph.nodes) {
      INFO(to_string(node.op));
      const auto kind = record_of(node.op).kind;
      CHECK((kind != OpKind::backward || node.phase == Phase::backward));
      CHECK((kind != OpKind::loss || node.phase == Phase::forward));
    }
}

TEST_CASE("in-place ops have an output of their input's size and type") {
  for (const auto& graph : graphs_of_all_ops())
    for (const auto& node : graph.nodes)
      for (std::size_t i = 0; i < record_of(node.op).in_place; ++i) {
        INFO(to_string(node.op));
        const auto &x = graph[node.inputs[i]], &y = graph[node.outputs[0]];
        CHECK(x.shape.elements() == y.shape.elements());
        CHECK(x.dtype == y.dtype);
      }
}

TEST_CASE("a clone writes some of the node's outputs with the same shapes") {
  for (const auto& graph : graphs_of_all_ops())
    for (const auto& node : graph.nodes) {
      const auto clone = record_of(node.op).clone;
      const auto again = clone ? (*clone)(node) : std::nullopt;
      if (!again)
        continue;
      INFO(to_string(node.op));
      REQUIRE_FALSE(again->outputs.empty());
      CHECK(std::equal(again->outputs.begin(), again->outputs.end(), node.outputs.begin()));
      CHECK(complaint(graph, *again).empty());
      CHECK((again->op == node.op || record_of(again->op).kind == OpKind::backward));
    }
}

TEST_CASE("batch norm with running statistics has no clone") {
  Node node{Op::batch_norm, {0, 1, 2, 3, 4}, {5}, BatchNormAttributes{.training = false}};
  CHECK_FALSE((*record_of(node.op).clone)(node).has_value());
}

TEST_CASE("gradients are computed for every parameter, but not for statistics or labels") {
  for (const auto& one : testing::all_op_cases()) {
    INFO(one.name);
    const auto graph = differentiated(one);
    for (const auto& node : graph.nodes)
      for (std::size_t i = 0; i < node.inputs.size() && node.phase == Phase::forward; ++i) {
        const auto& input = graph[node.inputs[i]];
        INFO(to_string(node.op) << ", " << input.name);
        const bool flows = record_of(node.op).flows_to.contains(i);
        if (input.role == Role::parameter)
          CHECK((flows && graph.find(input.name + ".grad")));
        if (input.role == Role::statistic || input.role == Role::target)
          CHECK_FALSE(flows);
      }
  }
}

TEST_CASE("products and their gradients count operations, other ops count none") {
  const std::set<Op> products = {Op::conv2d,
                                 Op::conv2d_backward_data,
                                 Op::conv2d_backward_weight,
                                 Op::matmul,
                                 Op::matmul_backward_data,
                                 Op::matmul_backward_weight,
                                 Op::causal_attention,
                                 Op::causal_attention_backward,
                                 Op::cached_attention,
                                 Op::linear_cross_entropy,
                                 Op::linear_cross_entropy_backward};
  for (const auto& graph : graphs_of_all_ops())
    for (const auto& node : graph.nodes) {
      INFO(to_string(node.op));
      const auto cost = cost_of(graph, node);
      if (node.op != Op::embedding)
        CHECK(cost.bytes == cost_of_moving(graph, node).bytes);
      CHECK((cost.operations > 0) == (products.count(node.op) > 0));
    }
}

TEST_CASE("an embedding costs the rows that it reads, not its whole table") {
  for (const auto& graph : graphs_of_all_ops())
    for (const auto& node : graph.nodes)
      if (node.op == Op::embedding) {
        const auto rows = bytes_of(graph[node.outputs[0]]);
        CHECK(cost_of(graph, node).bytes ==
              static_cast<double>(bytes_of(graph[node.inputs[0]]) + 2 * rows));
      }
}

TEST_CASE("a set of inputs contains the listed inputs, or all except those") {
  CHECK(InputSet::only({1, 31}).contains(31));
  CHECK_FALSE(InputSet::only({1, 31}).contains(0));
  CHECK_FALSE(InputSet::all_but({3, 4}).contains(4));
  CHECK(InputSet::all_but({3, 4}).contains(5));
  CHECK(InputSet::all() == InputSet::all_but({}));
  CHECK(InputSet::none() != InputSet::all());
}
