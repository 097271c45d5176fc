#include "nn/builder.hpp"
#include "nn/models/models.hpp"
#include "nn/passes/autodiff.hpp"
#include "nn/passes/fuse.hpp"
#include "nn/validate.hpp"
#include "tests/nn/graph_runner.hpp"
#include "tests/support/initial_values.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

Graph two_images(const std::string& name, bool training = true) {
  ModelConfig config;
  config.name = name;
  config.hidden = {6};
  const auto graph =
      build_model(config, {.input = image_input(16), .batch = 2, .training = training});
  REQUIRE(graph.has_value());
  return *graph;
}

void check_same_results(const Graph& forward, const FusePatterns& patterns) {
  const auto fused = fuse(forward, patterns);
  const auto valid = validate(fused);
  INFO((valid ? "" : valid.error().to_string()));
  REQUIRE(valid.has_value());
  const auto before = autodiff(forward), after = autodiff(fused);
  REQUIRE(before.has_value());
  REQUIRE(after.has_value());
  REQUIRE(validate(*after).has_value());
  GraphRunner a{*before}, b{*after};
  for (auto* runner : {&a, &b}) {
    runner->fill();
    const auto values = initial_values(forward, 1);
    REQUIRE(values.has_value());
    for (const auto& tensor : *values)
      runner->set(tensor.name, tensor.values);
    runner->run();
  }
  for (const char* name : {"logits", "loss", "correct"})
    CHECK(relative_error(b.get(name), a.get(name)) < 1e-5);
  for (const auto id : before->with_role(Role::gradient)) {
    const auto& name = (*before)[id].name;
    INFO(name);
    CHECK(relative_error(b.get(name), a.get(name)) < 1e-4);
  }
  for (const auto id : before->with_role(Role::statistic)) {
    const auto& name = (*before)[id].name;
    CHECK(relative_error(b.get(name), a.get(name)) < 1e-5);
  }
}

} // namespace

TEST_CASE("all patterns of a residual network are fused, with the same results") {
  const auto forward = two_images("resnet18");
  const auto fused = fuse(forward, FusePatterns::all());
  CHECK(count(fused, Op::relu) == 0);
  CHECK(count(fused, Op::add) == 0);
  CHECK(count(fused, Op::bias) == 0);
  CHECK(count(fused, Op::batch_norm) == count(forward, Op::batch_norm));
  check_same_results(forward, FusePatterns::all());
}

TEST_CASE("each pattern is fused separately") {
  for (const auto& patterns : {FusePatterns{true, false, false}, FusePatterns{false, true, false},
                               FusePatterns{false, false, true}})
    check_same_results(two_images("resnet20"), patterns);
  // The relus after an add stay.
  CHECK(count(fuse(two_images("resnet20"), {true, false, false}), Op::relu) == 9);
  CHECK(count(fuse(two_images("resnet20"), {false, true, false}), Op::add) == 0);
  CHECK(count(fuse(two_images("mlp"), {false, false, true}), Op::bias) == 0);
}

TEST_CASE("nothing is fused that the device does not support in a pattern") {
  const auto forward = two_images("resnet18");
  CHECK(fuse(forward, FusePatterns::none()).to_string() == forward.to_string());
}

TEST_CASE("evaluation graphs are fused too") {
  const auto forward = two_images("resnet18", false);
  const auto fused = fuse(forward, FusePatterns::all());
  CHECK(count(fused, Op::relu) == 0);
  GraphRunner a{forward}, b{fused};
  a.fill();
  b.fill();
  a.run();
  b.run();
  CHECK(relative_error(b.get("logits"), a.get("logits")) < 1e-5);
}

TEST_CASE("a result that is kept or has another reader stays") {
  GraphBuilder b;
  b.begin_unit("unit");
  const auto x = b.input("x", {2, 4, 4, 2});
  const auto normal = b.batch_norm("bn", x, true);
  b.add("sum", b.relu("relu", normal), normal);
  const auto graph = std::move(b).finish();
  REQUIRE(graph.has_value());
  CHECK(count(fuse(*graph, FusePatterns::all()), Op::relu) == 1);

  const auto forward = two_images("resnet20");
  const auto fused = fuse(forward, FusePatterns::all(), {"bn1", "layer1.0.add"});
  CHECK(count(fused, Op::relu) == 2);
  CHECK(fused.find("bn1").has_value());
  CHECK(fused.find("layer1.0.add").has_value());
}
