#include "nn/learning_rates.hpp"
#include "nn/models/models.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;

namespace {

Graph resnet20() {
  ModelConfig config;
  config.name = "resnet20";
  const auto graph = build_model(config, {.input = image_input(8)});
  REQUIRE(graph.has_value());
  return *graph;
}

double factor_of(const TrainConfig& train, const Graph& graph, std::string_view name) {
  const auto names = parameter_names(graph);
  const auto at = std::ranges::find(names, name, &ParameterName::name) - names.begin();
  return rate_factors(train, names)[static_cast<std::size_t>(at)];
}

std::string only_conflict(const TrainConfig& train) {
  const auto found = find_rate_conflicts(train, resnet20());
  REQUIRE(found.size() == 1);
  return found[0].what + "; " + found[0].allowed + "; " + found[0].suggestion;
}

} // namespace

TEST_CASE("a parameter belongs to its unit, its module and the enclosing ones") {
  const ParameterName parameter{"layer1.0.conv1.weight", "layer1.0"}, first{"conv1.weight", "stem"};
  for (const auto* name : {"layer1", "layer1.0", "layer1.0.conv1"})
    CHECK(belongs_to(parameter, name));
  for (const auto* name : {"layer", "layer1.0.conv", "layer1.0.conv1.weight", "conv1", "stem"})
    CHECK_FALSE(belongs_to(parameter, name));
  CHECK(belongs_to(first, "stem"));
  CHECK(belongs_to(first, "conv1"));
}

TEST_CASE("the most specific name determines the factor, and every name freezes") {
  const auto graph = resnet20();
  TrainConfig train;
  train.lr_scale = {{"layer1", 0.5}, {"layer1.0", 2}, {"layer1.0.conv1", 4}, {"head", 10}};
  CHECK(factor_of(train, graph, "layer1.0.conv1.weight") == 4);
  CHECK(factor_of(train, graph, "layer1.0.conv2.weight") == 2);
  CHECK(factor_of(train, graph, "layer1.1.conv1.weight") == 0.5);
  CHECK(factor_of(train, graph, "layer2.0.conv1.weight") == 1);
  CHECK(factor_of(train, graph, "fc.bias") == 10);
  train.freeze = {"layer1.0"};
  CHECK(factor_of(train, graph, "layer1.0.conv1.weight") == 0);
  CHECK(find_rate_conflicts({.lr_scale = {{"layer1", 0.5}, {"fc", 10}}}, graph).empty());
}

TEST_CASE("unknown names are refused with the nearest one") {
  CHECK(only_conflict({.freeze = {"layr1"}}) ==
        "the model has no unit or module \"layr1\" with parameters; stem, conv1, bn1, layer1, "
        "layer2, layer3, head, fc, and the units and modules inside them; layer1");
  CHECK(only_conflict({.lr_scale = {{"cf", 10}}}).ends_with("; fc"));
  CHECK(only_conflict({.freeze = {"relu"}}).starts_with("the model has no unit or module"));
}

TEST_CASE("contradictory settings are refused") {
  CHECK(only_conflict({.freeze = {"stem", "layer1", "layer2", "layer3", "fc"}})
            .starts_with("the whole model is frozen"));
  CHECK(only_conflict({.freeze = {"layer1"}, .lr_scale = {{"layer1.0", 2}}})
            .starts_with("layer1.0 is frozen (train.freeze): it has no learning rate"));
  CHECK(only_conflict({.lr_scale = {{"fc", 2}, {"head", 3}}})
            .starts_with("fc and head contain the same parameters"));
}
