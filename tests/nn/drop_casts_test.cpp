#include "nn/passes/drop_casts.hpp"
#include "nn/validate.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

/// A graph of one unit: "x", and tensors that are cast and computed from it.
class Chain {
public:
  explicit Chain(DType x) {
    graph_.units = {"unit"};
    graph_.add_tensor({"x", {2, 3}, x, Role::input});
  }
  Chain& cast(const char* from, const char* to, DType type) {
    return add(Op::cast, {from}, to, type);
  }
  Chain& relu(const char* from, const char* to) {
    return add(Op::relu, {from}, to, graph_[id(from)].dtype);
  }
  Chain& sum(const char* a, const char* b, const char* to) {
    return add(Op::add, {a, b}, to, graph_[id(a)].dtype);
  }
  const Graph& graph() const {
    REQUIRE(validate(graph_).has_value());
    return graph_;
  }

private:
  TensorId id(const char* name) const { return graph_.find(name).value(); }
  Chain& add(Op op, const std::vector<const char*>& from, const char* to, DType type) {
    Node node{op, {}, {graph_.add_tensor({to, {2, 3}, type, Role::activation})}};
    for (const auto* name : from)
      node.inputs.push_back(id(name));
    graph_.add_node(std::move(node));
    return *this;
  }

  Graph graph_;
};

std::vector<std::string> casts(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes)
    if (node.op == Op::cast)
      names.push_back(graph[node.outputs[0]].name);
  return names;
}

using Names = std::vector<std::string>;

/// Returns the graph without the dropped casts; requires that it computes the same bits.
Graph dropped(const Graph& graph, const Names& keep = {}) {
  auto after = drop_casts(graph, keep);
  REQUIRE(validate(after).has_value());
  GraphRunner a{graph}, b{after};
  a.fill();
  b.fill();
  a.run();
  b.run();
  CHECK(a.get("y") == b.get("y"));
  return after;
}

} // namespace

TEST_CASE("a cast to the same type is removed") {
  const auto after =
      dropped(Chain{DType::f16}.cast("x", "same", DType::f16).relu("same", "y").graph());
  CHECK(after.nodes.size() == 1);
  CHECK(after.tensors.size() == 2);
}

TEST_CASE("a cast up and down again is removed, even if the wide tensor has other readers") {
  for (const auto type : {DType::f16, DType::bf16}) {
    Chain chain{type};
    chain.cast("x", "wide", DType::f32).cast("wide", "narrow", type).relu("narrow", "y");
    CHECK(casts(dropped(chain.graph())).empty());
    chain.relu("wide", "other");
    CHECK(casts(dropped(chain.graph())) == Names{"wide"});
  }
}

TEST_CASE("a cast that rounds is kept") {
  CHECK(casts(dropped(Chain{DType::f32}
                          .cast("x", "narrow", DType::bf16)
                          .cast("narrow", "wide", DType::f32)
                          .relu("wide", "y")
                          .graph())) == Names{"narrow", "wide"});
  CHECK(casts(dropped(Chain{DType::bf16}
                          .cast("x", "wide", DType::f32)
                          .cast("wide", "narrow", DType::f16)
                          .relu("narrow", "y")
                          .graph())) == Names{"wide", "narrow"});
}

TEST_CASE("chains of exact casts are removed completely") {
  CHECK(casts(dropped(Chain{DType::f16}
                          .cast("x", "a", DType::f32)
                          .cast("a", "b", DType::f16)
                          .cast("b", "c", DType::f32)
                          .cast("c", "d", DType::f16)
                          .relu("d", "y")
                          .graph()))
            .empty());
}

TEST_CASE("a second cast to the same type is removed") {
  CHECK(casts(dropped(Chain{DType::f32}
                          .cast("x", "one", DType::f16)
                          .cast("x", "two", DType::f16)
                          .sum("one", "two", "y")
                          .graph())) == Names{"one"});
}

TEST_CASE("a kept tensor stays, together with the tensors that it is computed from") {
  CHECK(casts(dropped(Chain{DType::f16}
                          .cast("x", "wide", DType::f32)
                          .cast("wide", "narrow", DType::f16)
                          .relu("narrow", "y")
                          .graph(),
                      {"narrow"})) == Names{"wide", "narrow"});
}
