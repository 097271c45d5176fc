// Tests the inputs of a batch: samples of any shape, and labels or values as targets.
#include "core/config/config.hpp"
#include "nn/compile.hpp"
#include "nn/models/models.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// 13 columns and 2 targets.
const InputSpec table = {
    .name = "features", .sample = {13}, .target = "targets", .target_kind = TargetKind::values};

ModelConfig regression(const std::string& name, bool bias = true) {
  return {.name = name,
          .num_classes = 2,
          .hidden = {5},
          .bias = bias,
          .loss = LossKind::mean_squared_error};
}

Graph built(const ModelConfig& model, std::int64_t batch = 4) {
  auto graph = build_model(model, {.input = table, .batch = batch});
  INFO((graph ? "" : graph.error().to_string()));
  REQUIRE(graph);
  return *std::move(graph);
}

std::vector<std::string> names(const Graph& graph, Role role) {
  std::vector<std::string> found;
  for (const auto id : graph.with_role(role))
    found.push_back(graph[id].name);
  return found;
}

std::string refusal(const ModelConfig& model, const InputSpec& input = table) {
  const auto graph = build_model(model, {.input = input});
  return graph ? "" : graph.error().message;
}

} // namespace

TEST_CASE("a regression accepts a table's rows and values") {
  for (const auto* name : {"linear", "mlp"}) {
    INFO(name);
    const auto graph = built(regression(name));
    CHECK(graph[*graph.find("features")].shape == Shape{4, 13});
    CHECK(graph[*graph.find("targets")].shape == Shape{4, 2});
    CHECK(graph[*graph.find("targets")].dtype == DType::f32);
    CHECK(graph[*graph.find("logits")].shape == Shape{4, 2});
    CHECK(names(graph, Role::output) == std::vector<std::string>{"loss", "loss.counted"});
  }
}

TEST_CASE("a config's data determines the model's input") {
  Config config;
  config.data.image_size = 28;
  config.model.in_channels = 1;
  CHECK(input_spec(config).sample == Shape{28, 28, 1});
  CHECK(input_spec(config).target_kind == TargetKind::labels);
  config.data.dataset = "csv";
  config.data.table.features = {"rooms", "age"};
  CHECK(input_spec(config).name == "features");
  CHECK(input_spec(config).sample == Shape{2});
  CHECK(input_spec(config).target == "labels");
  config.model.loss = LossKind::mean_squared_error;
  CHECK(input_spec(config).target == "targets");
  CHECK(input_spec(config).target_kind == TargetKind::values);
}

TEST_CASE("the loss of a regression is the mean of the squared differences") {
  GraphRunner runner{built(regression("linear"))};
  runner.fill();
  runner.run();
  const auto predicted = runner.get("logits"), wanted = runner.get("targets");
  double sum = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    sum += std::pow(double{predicted[i]} - double{wanted[i]}, 2);
  CHECK(std::abs(sum / static_cast<double>(predicted.size()) - double{runner.get("loss")[0]}) <
        1e-5);
}

TEST_CASE("a regression passes all passes of training") {
  const auto forward = built(regression("mlp"), 4);
  for (const auto precision : {Precision::fp32, Precision::amp_bf16}) {
    const auto model = run_passes(forward, PassMode::training, {.precision = precision});
    INFO((model ? "" : model.error().to_string()));
    REQUIRE(model);
    CHECK(names(model->graph, Role::gradient).size() == 4);
  }
}

TEST_CASE("labels of a table's rows are classes") {
  auto labelled = table;
  labelled.target_kind = TargetKind::labels;
  const auto graph = build_model({.name = "linear", .num_classes = 3}, {.input = labelled});
  REQUIRE(graph);
  CHECK((*graph)[*graph->find("targets")].dtype == DType::i32);
  CHECK(names(*graph, Role::output) == std::vector<std::string>{"loss", "loss.counted", "correct"});
}

TEST_CASE("a ResNet refuses inputs that are not images and names models that accept them") {
  for (const auto* name : {"resnet18", "resnet20"}) {
    auto model = regression(name);
    model.hidden = {512};
    CHECK_THAT(
        refusal(model),
        ContainsSubstring(
            std::string{name} +
            " takes images (H, W, C), but the samples have the shape 13; allowed: mlp, linear"));
  }
}

TEST_CASE("values need a loss for values") {
  auto model = regression("linear");
  model.loss = LossKind::cross_entropy;
  CHECK_THAT(refusal(model), ContainsSubstring("model.loss: cross_entropy needs class labels") &&
                                 ContainsSubstring("allowed: mean_squared_error"));
}

TEST_CASE("without bias a model has only weights, with the same initial values") {
  for (const auto* name : {"linear", "mlp"}) {
    INFO(name);
    const auto with = built(regression(name)), without = built(regression(name, false));
    std::vector<std::string> weights;
    for (const auto& parameter : names(with, Role::parameter))
      if (parameter.ends_with(".weight"))
        weights.push_back(parameter);
    CHECK(names(without, Role::parameter) == weights);
    // With a bias of zero, both graphs compute the same values.
    GraphRunner a{with}, b{without};
    a.fill();
    b.fill();
    for (const auto& parameter : names(with, Role::parameter))
      if (parameter.ends_with(".bias"))
        a.set(parameter, std::vector<float>(a.get(parameter).size()));
    a.run();
    b.run();
    CHECK(a.get("logits") == b.get("logits"));
  }
}

TEST_CASE("a model that needs its bias refuses to omit it") {
  CHECK_THAT(refusal({.name = "resnet20", .bias = false}, image_input(32)),
             ContainsSubstring("model.bias: the head of resnet20 always has a bias; allowed: true, "
                               "or a model that takes it: mlp, linear"));
}
