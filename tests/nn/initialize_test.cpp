#include "nn/builder.hpp"
#include "nn/initialize.hpp"
#include "nn/models/models.hpp"
#include "tests/support/initial_values.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cmath>

using namespace troupe;
using namespace troupe::nn;

namespace {

std::vector<InitialTensor> values_of(const std::string& name, std::uint64_t seed) {
  ModelConfig config;
  config.name = name;
  const auto graph = build_model(config, {.input = image_input(32), .batch = 2});
  REQUIRE(graph.has_value());
  auto values = initial_values(*graph, seed);
  REQUIRE(values.has_value());
  return *values;
}

const InitialTensor& find(const std::vector<InitialTensor>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &InitialTensor::name);
  REQUIRE(found != all.end());
  return *found;
}

double mean(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values)
    sum += double{v};
  return sum / static_cast<double>(values.size());
}

double deviation(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values)
    sum += double{v} * double{v};
  return std::sqrt(sum / static_cast<double>(values.size()));
}

} // namespace

TEST_CASE("convolutions start normal with variance 2 / fan_out") {
  const auto all = values_of("resnet18", 1);
  const auto& weight = find(all, "layer2.0.conv1.weight").values; // 128 x 64 x 3 x 3
  CHECK(std::abs(mean(weight)) < 4 * 0.0417 / std::sqrt(73728.0));
  CHECK(std::abs(deviation(weight) / std::sqrt(2.0 / (128 * 9)) - 1) < 0.02);
}

TEST_CASE("the classifier starts uniform within 1 / sqrt(fan_in)") {
  const auto all = values_of("resnet18", 1);
  const double bound = 1 / std::sqrt(512.0);
  for (const char* name : {"fc.weight", "fc.bias"}) {
    const auto& values = find(all, name).values;
    CHECK(double{*std::ranges::max_element(values)} < bound);
    CHECK(double{*std::ranges::min_element(values)} >= -bound);
  }
  CHECK(std::abs(deviation(find(all, "fc.weight").values) / (bound / std::sqrt(3.0)) - 1) < 0.03);
}

TEST_CASE("batch norm starts as the identity") {
  const auto all = values_of("resnet20", 1);
  CHECK(std::ranges::count(find(all, "bn1.weight").values, 1.0f) == 16);
  CHECK(std::ranges::count(find(all, "bn1.bias").values, 0.0f) == 16);
  CHECK(std::ranges::count(find(all, "bn1.running_mean").values, 0.0f) == 16);
  CHECK(std::ranges::count(find(all, "bn1.running_var").values, 1.0f) == 16);
}

TEST_CASE("initial values depend on the seed and the name, not on the rest of the model") {
  const auto a = values_of("resnet20", 1), b = values_of("resnet56", 1),
             c = values_of("resnet20", 2);
  CHECK(find(a, "conv1.weight").values == find(b, "conv1.weight").values);
  CHECK(find(a, "conv1.weight").values != find(c, "conv1.weight").values);
  CHECK(find(a, "layer1.0.conv1.weight").values != find(a, "layer1.0.conv2.weight").values);
}

TEST_CASE("a parameter is initialized as it declares, whatever reads it") {
  GraphBuilder b;
  b.begin_unit("unit");
  const auto x = b.input("x", {4, 3});
  const auto weight = b.parameter("fc.weight", {2, 3}, Initial::constant(0.5));
  b.apply(Op::matmul, "fc", {x, weight});
  b.statistic("unread", {2}, Initial::constant(3));
  const auto graph = std::move(b).finish();
  REQUIRE(graph.has_value());
  const auto values = initial_values(*graph, 1);
  REQUIRE(values.has_value());
  CHECK(find(*values, "fc.weight").values == std::vector<float>(6, 0.5f));
  CHECK(find(*values, "unread").values == std::vector<float>(2, 3.0f));
}

TEST_CASE("a parameter without an initializer is an error that names it") {
  GraphBuilder b;
  b.begin_unit("unit");
  b.apply(Op::matmul, "fc", {b.input("x", {4, 3}), b.parameter("fc.weight", {2, 3}, {})});
  const auto graph = std::move(b).finish();
  REQUIRE(graph.has_value());
  const auto values = initial_values(*graph, 1);
  REQUIRE_FALSE(values.has_value());
  CHECK_THAT(values.error().message, Catch::Matchers::ContainsSubstring("fc.weight"));
}

TEST_CASE("the hash of names is FNV-1a") {
  CHECK(stream_of("") == 0xcbf29ce484222325u);
  CHECK(stream_of("foobar") == 0x85944171f73967e8u);
}
