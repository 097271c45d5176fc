#include "tests/devices/compare.hpp"

#include "tests/devices/test_device.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace troupe::testing {

namespace {

constexpr float fp32_tolerance = 1e-4f;

constexpr float deep_fp32_tolerance = 2e-3f;
/// Average tolerance of gradients before a value that falls on the other side of a relu: one such
/// value in a few thousand changes all gradients before it by a few thousandths (measured: 0.004 in
/// ResNet-20).
constexpr float relu_edge_tolerance = 3e-2f;
/// Losses differ by 1e-6 until one value falls on the other side of a relu in some step.
constexpr float deep_fp32_losses = 1e-3f;

struct Tolerance {
  float values, gradients;
};

/// Returns average tolerances. Stored values are rounded a few times on their way. A rounding that
/// moves a value over a relu's edge changes a gradient completely, but such values are so rare that
/// the norm grows with the square root of epsilon. The factors leave a margin above the differences
/// between the interpreter's results in f32 and in f16 or bf16 (in deep networks at most 0.5 times
/// epsilon and 2.8 times its root).
Tolerance tolerance(Precision precision, Depth depth) {
  const bool deep = depth == Depth::deep;
  if (precision == Precision::fp32 && deep)
    return {fp32_tolerance,
            test_traits().same_relu_edges ? deep_fp32_tolerance : relu_edge_tolerance};
  if (precision == Precision::fp32)
    return {fp32_tolerance, fp32_tolerance};
  const float factor = deep ? 4 : 1, rounding = epsilon(precision);
  return {factor * 13 * rounding, factor * 1.2f * std::sqrt(rounding)};
}

/// Returns the gradients of activations, or the other tensors; autodiff's names distinguish them.
Values part_of(const Values& activations, bool gradients) {
  Values part;
  for (const auto& [name, values] : activations)
    if ((name.find(".grad") != std::string::npos) == gradients)
      part.emplace(name, values);
  return part;
}

double norm(const std::vector<float>& tensor) {
  double sum = 0;
  for (const float value : tensor)
    sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

double largest_norm(const Values& values) {
  double largest = 0;
  for (const auto& [name, tensor] : values)
    largest = std::max(largest, norm(tensor));
  return largest;
}

/// Returns the norm of a - b.
double distance(std::vector<float> a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  std::ranges::transform(a, b, a.begin(), std::minus{});
  return norm(a);
}

void require_as_near(const Values& got, const Values& reference, const Values& rounded,
                     float relative) {
  REQUIRE(got.size() == reference.size());
  const double largest = largest_norm(reference);
  for (const auto& [name, wanted] : reference) {
    const auto error = distance(got.at(name), wanted), own = distance(rounded.at(name), wanted);
    INFO(name << " is off by " << error << ", by a rounding of the images alone " << own
              << "; its norm is " << norm(wanted) << ", the largest " << largest);
    REQUIRE(error <= 3 * own + static_cast<double>(relative) * std::max(norm(wanted), largest / 4));
  }
}

void require_scalar(float got, float wanted, float relative) {
  INFO(got << ", expected " << wanted);
  REQUIRE(std::abs(got - wanted) <= relative * std::max(std::abs(wanted), 0.1f));
}

} // namespace

void require_close(const Values& values, const Values& expected, float relative) {
  REQUIRE(values.size() == expected.size());
  for (const auto& [name, wanted] : expected) {
    INFO(name);
    const auto& got = values.at(name);
    REQUIRE(got.size() == wanted.size());
    float scale = 1e-6f, worst = 0;
    for (const float value : wanted)
      scale = std::max(scale, std::abs(value));
    std::size_t at = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const float error = std::abs(got[i] - wanted[i]);
      if (!(error <= worst)) {
        worst = error;
        at = i;
      }
    }
    INFO("element " << at << ": " << got[at] << ", expected " << wanted[at] << ", scale " << scale);
    REQUIRE(worst <= 1e-5f + relative * scale);
  }
}

void require_close_on_average(const Values& values, const Values& expected, float relative) {
  REQUIRE(values.size() == expected.size());
  const double largest = largest_norm(expected);
  for (const auto& [name, wanted] : expected) {
    INFO(name);
    const auto error = distance(values.at(name), wanted), size = norm(wanted);
    INFO("norm of the difference " << error << ", of the tensor " << size << ", of the largest "
                                   << largest);
    REQUIRE(error <= static_cast<double>(relative) * std::max(size, largest / 4));
  }
}

float epsilon(Precision precision) {
  switch (precision) {
  case Precision::bf16:
  case Precision::amp_bf16:
    return 0x1p-7f;
  case Precision::tf32:
  case Precision::fp16:
  case Precision::amp_fp16:
    return 0x1p-10f;
  case Precision::fp32:
    break;
  }
  return 0x1p-23f;
}

void require_same_pass(const RunResult& got, const RunResult& reference, Precision precision,
                       Depth depth) {
  const auto [values, gradients] = tolerance(precision, depth);
  require_close_on_average(part_of(got.activations, false), part_of(reference.activations, false),
                           values);
  require_close_on_average(part_of(got.activations, true), part_of(reference.activations, true),
                           gradients);
  require_close_on_average(got.gradients, reference.gradients, gradients);
  require_close_on_average(got.statistics, reference.statistics, values);
  REQUIRE(got.outputs.find("loss").has_value() == reference.outputs.find("loss").has_value());
  if (reference.outputs.find("loss"))
    require_scalar(got.outputs["loss"], reference.outputs["loss"], values);
  if (precision != Precision::fp32)
    return;
  const bool deep = depth == Depth::deep;
  const float largest = deep ? deep_fp32_tolerance : fp32_tolerance;
  require_close(part_of(got.activations, false), part_of(reference.activations, false), largest);
  // At a relu's edge, a gradient either passes completely or is zero.
  if (!deep || test_traits().same_relu_edges) {
    require_close(part_of(got.activations, true), part_of(reference.activations, true), largest);
    require_close(got.gradients, reference.gradients, largest);
  }
  require_close(got.statistics, reference.statistics, largest);
  for (const auto* count : {"correct", "loss.counted"})
    REQUIRE(got.outputs.find(count) == reference.outputs.find(count));
  if (!got.indices.empty())
    require_close(got.indices, reference.indices, 0);
}

void require_same_losses(const RunResult& got, const RunResult& reference, Precision precision,
                         Depth depth) {
  REQUIRE(got.steps.size() == reference.steps.size());
  for (std::size_t i = 0; i < got.steps.size(); ++i) {
    INFO("step " << i);
    require_scalar(got.steps[i]["loss"], reference.steps[i]["loss"],
                   precision == Precision::fp32 && depth == Depth::deep
                       ? deep_fp32_losses
                       : tolerance(precision, depth).values);
  }
}

void require_as_near(const RunResult& got, const RunResult& reference, const RunResult& rounded,
                     Precision precision) {
  const float values = tolerance(precision, Depth::deep).values;
  const float gradients = std::max(values, relu_edge_tolerance);
  require_as_near(part_of(got.activations, false), part_of(reference.activations, false),
                  part_of(rounded.activations, false), values);
  require_as_near(part_of(got.activations, true), part_of(reference.activations, true),
                  part_of(rounded.activations, true), gradients);
  require_as_near(got.gradients, reference.gradients, rounded.gradients, gradients);
  require_as_near(got.statistics, reference.statistics, rounded.statistics, values);
  require_as_near({{"losses", got.losses()}}, {{"losses", reference.losses()}},
                  {{"losses", rounded.losses()}}, values);
}

} // namespace troupe::testing
