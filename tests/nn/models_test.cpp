#include "nn/config_check.hpp"
#include "nn/models/families.hpp"
#include "nn/models/models.hpp"
#include "nn/validate.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;
using Catch::Matchers::ContainsSubstring;

namespace {

ModelConfig model(std::string name, Stem stem, std::int64_t classes) {
  ModelConfig config;
  config.name = std::move(name);
  config.stem = stem;
  config.num_classes = classes;
  return config;
}

std::int64_t parameter_count(const Graph& graph) {
  std::int64_t count = 0;
  for (const auto id : graph.with_role(Role::parameter))
    count += graph[id].shape.elements();
  return count;
}

Graph build(const ModelConfig& config, const ModelOptions& options) {
  const auto graph = build_model(config, options);
  INFO((graph ? "" : graph.error().to_string()));
  REQUIRE(graph.has_value());
  return *graph;
}

} // namespace

TEST_CASE("ResNets have as many parameters as torchvision's") {
  // sum(p.numel() for p in torchvision.models.resnetN().parameters())
  const std::pair<const char*, std::int64_t> known[] = {{"resnet18", 11689512},
                                                        {"resnet34", 21797672},
                                                        {"resnet50", 25557032},
                                                        {"resnet101", 44549160},
                                                        {"resnet152", 60192808}};
  for (const auto& [name, count] : known) {
    INFO(name);
    const auto graph =
        build(model(name, Stem::imagenet, 1000), {.input = image_input(224), .batch = 2});
    CHECK(parameter_count(graph) == count);
    CHECK(graph[*graph.find("logits")].shape == Shape{2, 1000});
    CHECK(validate(graph).has_value());
  }
}

TEST_CASE("ResNets for CIFAR have the parameters of He et al. with option A") {
  // Convolutions and the classifier as in the paper's table 6, and two values per channel for batch
  // norm.
  const std::pair<const char*, std::int64_t> known[] = {
      {"resnet20", 269722}, {"resnet32", 464154}, {"resnet56", 853018}};
  for (const auto& [name, count] : known)
    CHECK(parameter_count(build(model(name, Stem::cifar, 10), {})) == count);
}

TEST_CASE("the width of a ResNet is its first stage's and doubles with every stage") {
  auto config = model("resnet50", Stem::imagenet, 10);
  config.width = 16;
  const auto wide = build(config, {.batch = 2});
  CHECK(wide[*wide.find("conv1.weight")].shape == Shape{16, 3, 7, 7});
  CHECK(wide[*wide.find("layer4.2.conv3.weight")].shape == Shape{512, 128, 1, 1});
  config.name = "resnet20", config.stem = Stem::cifar, config.width = 5;
  const auto odd = build(config, {.batch = 2});
  CHECK(odd[*odd.find("layer3.2.conv2.weight")].shape == Shape{20, 20, 3, 3});
  CHECK(validate(odd).has_value());
}

TEST_CASE("tensors have PyTorch's names and shapes") {
  const auto graph =
      build(model("resnet50", Stem::imagenet, 1000), {.input = image_input(64), .batch = 2});
  const std::pair<const char*, Shape> some[] = {{"conv1.weight", {64, 3, 7, 7}},
                                                {"bn1.weight", {64}},
                                                {"bn1.bias", {64}},
                                                {"bn1.running_mean", {64}},
                                                {"bn1.running_var", {64}},
                                                {"layer1.0.conv1.weight", {64, 64, 1, 1}},
                                                {"layer1.0.downsample.0.weight", {256, 64, 1, 1}},
                                                {"layer1.0.downsample.1.running_var", {256}},
                                                {"layer2.0.conv2.weight", {128, 128, 3, 3}},
                                                {"layer4.2.bn3.bias", {2048}},
                                                {"fc.weight", {1000, 2048}},
                                                {"fc.bias", {1000}},
                                                {"images", {2, 64, 64, 3}},
                                                {"labels", {2}},
                                                {"loss", {}},
                                                {"correct", {}}};
  for (const auto& [name, shape] : some) {
    INFO(name);
    REQUIRE(graph.find(name).has_value());
    CHECK(graph[*graph.find(name)].shape == shape);
  }
  // The stride of torchvision's bottleneck is in the 3x3 convolution.
  CHECK(graph[*graph.find("layer2.0.conv1")].shape == Shape{2, 16, 16, 128});
  CHECK(graph[*graph.find("layer2.0.conv2")].shape == Shape{2, 8, 8, 128});
}

TEST_CASE("a unit is the stem, a residual block or the head") {
  const auto graph = build(model("resnet20", Stem::cifar, 10), {});
  REQUIRE(graph.units.size() == 11);
  CHECK(graph.units.front() == "stem");
  CHECK(graph.units[4] == "layer2.0");
  CHECK(graph.units.back() == "head");
  CHECK(graph[*graph.find("layer2.0.conv1.weight")].unit == 4);
  CHECK(graph[*graph.find("images")].unit == 0);
}

TEST_CASE("training and evaluation graphs have the same parameters and statistics") {
  const auto config = model("resnet18", Stem::cifar, 10);
  const auto training = build(config, {.input = image_input(28, 1), .batch = 8});
  const auto evaluation =
      build(config, {.input = image_input(28, 1), .batch = 3, .training = false});
  for (const auto role : {Role::parameter, Role::statistic}) {
    const auto a = training.with_role(role), b = evaluation.with_role(role);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(training[a[i]].name == evaluation[b[i]].name);
      CHECK(training[a[i]].shape == evaluation[b[i]].shape);
      CHECK(training[a[i]].unit == evaluation[b[i]].unit);
    }
  }
  CHECK_FALSE(evaluation.find("bn1.saved_mean").has_value());
}

TEST_CASE("every model is built for every number of channels") {
  for (const auto& name : model_catalogue().names)
    for (const std::int64_t channels : {1, 3}) {
      if (family_of({.name = name})->takes_tokens())
        continue;
      INFO(name << " " << channels);
      const auto graph =
          build(model(name, Stem::cifar, 7), {.input = image_input(32, channels), .batch = 2});
      CHECK(graph[*graph.find("logits")].shape == Shape{2, 7});
    }
}

TEST_CASE("an unknown model is an error that names the nearest one") {
  const auto built = build_model(model("resnet51", Stem::cifar, 10), {});
  REQUIRE_FALSE(built.has_value());
  CHECK(built.error().code == Errc::invalid_input);
  CHECK_THAT(built.error().message, ContainsSubstring("resnet51"));
  CHECK_THAT(built.error().message, ContainsSubstring("did you mean resnet5"));
}

TEST_CASE("a training batch with one value per channel is an error that names the layer") {
  const auto built = build_model(model("resnet18", Stem::imagenet, 10), {.batch = 1});
  REQUIRE_FALSE(built.has_value());
  CHECK(built.error().code == Errc::invalid_input);
  CHECK_THAT(built.error().message, ContainsSubstring("layer4.0"));
}
