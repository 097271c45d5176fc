#include "nn/models/models.hpp"
#include "nn/modules.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::nn;

namespace {

Graph model(const std::string& name) {
  ModelConfig config;
  config.name = name;
  config.hidden = {8, 8};
  const auto graph = build_model(config, {.input = image_input(8), .batch = 2});
  REQUIRE(graph.has_value());
  return *graph;
}

} // namespace

TEST_CASE("modules have PyTorch's names, and enclosing modules are included") {
  const auto names = module_names(model("resnet20"));
  CHECK(std::vector(names.begin(), names.begin() + 10) ==
        std::vector<std::string>{"conv1", "bn1", "relu", "layer1", "layer1.0", "layer1.0.conv1",
                                 "layer1.0.bn1", "layer1.0.relu1", "layer1.0.conv2",
                                 "layer1.0.bn2"});
  CHECK(names.back() == "fc");
  CHECK(module_names(model("mlp")) == std::vector<std::string>{"flatten", "layers", "layers.0",
                                                               "layers.0.relu", "layers.1",
                                                               "layers.1.relu", "fc"});
}

TEST_CASE(
    "a module is within itself and enclosing modules, not within names with a common prefix") {
  CHECK(is_within("layer1.0.conv1", "layer1.0.conv1"));
  CHECK(is_within("layer1.0.conv1", "layer1"));
  CHECK_FALSE(is_within("layer1.0.conv1", "layer1.0.conv"));
  CHECK_FALSE(is_within("layer1", "layer1.0"));
  CHECK_FALSE(is_within("layer10", "layer1"));
}
