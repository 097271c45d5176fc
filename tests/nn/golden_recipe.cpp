#include "tests/nn/golden_recipe.hpp"

#include "core/random.hpp"
#include "nn/initialize.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace troupe::nn::test {

namespace {

constexpr std::uint64_t seed = 20;

/// offset + scale * noise: both round once, as numpy's float32 does.
std::vector<float> affine(std::vector<float> noise, float scale, float offset) {
  for (auto& value : noise) {
    const float scaled = scale * value;
    value = offset + scaled;
  }
  return noise;
}

} // namespace

std::vector<float> golden_uniform(const std::string& name, std::size_t count) {
  CounterRng rng{seed, stream_of(name)};
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return 2.0f * rng.uniform() - 1.0f; });
  return values;
}

std::vector<float> golden_parameter(const std::string& name, const Shape& shape) {
  const auto count = static_cast<std::size_t>(shape.elements());
  if (name.ends_with("running_mean"))
    return std::vector<float>(count, 0.0f);
  if (name.ends_with("running_var"))
    return std::vector<float>(count, 1.0f);
  auto noise = golden_uniform(name, count);
  if (shape.rank() == 4) {
    const auto fan_out = static_cast<double>(shape[0] * shape[2] * shape[3]);
    return affine(std::move(noise), static_cast<float>(std::pow(6.0 / fan_out, 0.5)), 0.0f);
  }
  if (shape.rank() == 2)
    return affine(std::move(noise),
                  static_cast<float>(1.0 / std::pow(static_cast<double>(shape[1]), 0.5)), 0.0f);
  if (name.ends_with("bn3.weight"))
    return affine(std::move(noise), 0.0625f, 0.25f);
  if (name.ends_with("weight"))
    return affine(std::move(noise), 0.25f, 1.0f);
  return affine(std::move(noise), 0.25f, 0.0f);
}

std::vector<std::int32_t> golden_labels(std::int64_t count, std::int64_t classes) {
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < count; ++i)
    labels.push_back(static_cast<std::int32_t>((i * 7 + 3) % classes));
  return labels;
}

nlohmann::json read_golden(const std::string& file) {
  std::ifstream stream{testing::source_tree() / "tests/golden" / file};
  INFO(file);
  REQUIRE(stream.good());
  return nlohmann::json::parse(stream);
}

std::vector<float> golden_samples(const std::vector<float>& values) {
  const auto count = std::min<std::size_t>(64, values.size());
  std::vector<float> samples(count);
  for (std::size_t i = 0; i < count; ++i)
    samples[i] = values[i * values.size() / count];
  return samples;
}

double distance(const std::vector<float>& got, const std::vector<float>& expected) {
  REQUIRE(got.size() == expected.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += std::pow(double{got[i]} - double{expected[i]}, 2);
    norm += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(difference / std::max(norm, 1e-30));
}

double pytorch_factor(Precision precision) {
  return compute_type(precision) == DType::f32 ? 3.0 : 1.5;
}

double rounding_slack(Precision precision) {
  switch (compute_type(precision)) {
  case DType::bf16:
    return 4 * 0x1p-8;
  case DType::f16:
    return 4 * 0x1p-11;
  default:
    return 16 * 0x1p-23;
  }
}

} // namespace troupe::nn::test
