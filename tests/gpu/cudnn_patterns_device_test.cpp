// Compares every pattern with scalar loops, on small shapes. Tolerances follow from theory: one
// rounding of the result, and roundings of the operands that average out over a sum of a few
// hundred terms.
#include "tests/gpu/cudnn_device_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cmath>

using namespace troupe::gpu::cudnn;
using namespace troupe::testing;
using troupe::Residual;

namespace {

constexpr auto f32 = CUDNN_DATA_FLOAT;

double tolerance_of(cudnnDataType_t type, bool tf32 = false) {
  switch (type) {
  case CUDNN_DATA_HALF:
    return 2e-3;
  case CUDNN_DATA_BFLOAT16:
    return 1.6e-2;
  default:
    return tf32 ? 2e-3 : 1e-5;
  }
}

/// Strides, paddings and kernels of residual networks, with sides that are not powers of two.
std::vector<ConvolutionProblem> problems_of(cudnnDataType_t type) {
  return {{2, 9, 7, 64, 64, 3, 1, 1, type},
          {2, 9, 7, 64, 128, 3, 2, 1, type},
          {2, 8, 8, 64, 128, 1, 1, 0, type},
          {2, 8, 8, 64, 64, 1, 2, 0, type}};
}

std::vector<float> random(const Dims& dims, unsigned seed, cudnnDataType_t type) {
  return random_values(elements_of(dims), seed, type);
}

std::vector<double> as_doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// Returns relu(scale * x + bias) per channel, rounded to the type.
std::vector<float> normalized(const std::vector<float>& x, const std::vector<float>& scale,
                              const std::vector<float>& bias, cudnnDataType_t type) {
  std::vector<float> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto channel = i % scale.size();
    y[i] = rounded(std::max(0.0f, scale[channel] * x[i] + bias[channel]), type);
  }
  return y;
}

/// Returns the values of a run. Without a plan for the pattern, fails the test if it is required;
/// otherwise skips the test.
DeviceValues values_of(const Target& target, const OperationGraph& graph,
                       const DeviceValues& inputs, bool required) {
  auto values = run_on_gpu(target, graph, inputs);
  if (!values && !required)
    SKIP(graph.name << ": no plan for " << target.key());
  REQUIRE(values);
  return std::move(*values);
}

void require_statistics(const DeviceValues& values, const ConvolutionProblem& problem,
                        const std::vector<double>& y) {
  const auto tolerance = tolerance_of(problem.type);
  require_near(values.at(uid::y), y, tolerance);
  require_near(values.at(uid::sum), channel_sums(y, problem.out, 1), tolerance);
  require_near(values.at(uid::square_sum), channel_sums(y, problem.out, 2), 2 * tolerance);
}

} // namespace

TEST_CASE("convolutions match loops in every direction and type", "[device]") {
  const auto target = gpu_or_skip();
  for (const auto type : {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT})
    for (const auto& p : problems_of(type)) {
      const auto x = random(p.x(), 1, type);
      const auto w = random(p.w(), 2, type);
      const auto dy = random(p.y(), 3, type);
      for (const bool tf32 : {false, true}) {
        if (tf32 && type != f32)
          continue;
        PlanPolicy policy;
        policy.tf32 = tf32;
        const auto tolerance = tolerance_of(type, tf32);
        const auto y =
            run_on_gpu(target, convolution_forward(p), {{uid::x, x}, {uid::w, w}}, policy);
        REQUIRE(y);
        require_near(y->at(uid::y), true_forward(p, x, w), tolerance);
        const auto dx =
            run_on_gpu(target, convolution_backward_data(p), {{uid::dy, dy}, {uid::w, w}}, policy);
        REQUIRE(dx);
        require_near(dx->at(uid::dx), true_backward_data(p, dy, w), tolerance);
        for (const auto gradient : {type, f32}) {
          const auto dw = run_on_gpu(target, convolution_backward_filter(p, gradient),
                                     {{uid::x, x}, {uid::dy, dy}}, policy);
          REQUIRE((dw || gradient != type));
          if (dw)
            require_near(dw->at(uid::dw), true_backward_filter(p, x, dy), tolerance);
        }
      }
    }
}

TEST_CASE("a stem's convolution of four channels matches loops", "[device]") {
  const auto target = gpu_or_skip();
  const ConvolutionProblem p = {2, 32, 32, 4, 64, 7, 2, 3, CUDNN_DATA_HALF};
  const auto x = random(p.x(), 1, p.type);
  const auto w = random(p.w(), 2, p.type);
  const auto dy = random(p.y(), 3, p.type);
  const auto y = values_of(target, convolution_forward(p), {{uid::x, x}, {uid::w, w}}, true);
  require_near(y.at(uid::y), true_forward(p, x, w), tolerance_of(p.type));
  const auto dw =
      values_of(target, convolution_backward_filter(p, p.type), {{uid::x, x}, {uid::dy, dy}}, true);
  require_near(dw.at(uid::dw), true_backward_filter(p, x, dy), tolerance_of(p.type));
}

TEST_CASE("the statistics of a convolution's epilogue match loops", "[device]") {
  const auto target = gpu_or_skip();
  for (const auto& p : problems_of(GENERATE(CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16))) {
    const auto x = random(p.x(), 1, p.type);
    const auto w = random(p.w(), 2, p.type);
    const auto values =
        values_of(target, convolution_statistics(p), {{uid::x, x}, {uid::w, w}}, target.sm() == 90);
    require_statistics(values, p, true_forward(p, x, w));
  }
}

TEST_CASE("a convolution that normalizes its input matches loops", "[device]") {
  const auto target = gpu_or_skip();
  for (const auto& p : problems_of(GENERATE(CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16))) {
    const auto x = random(p.x(), 1, p.type);
    const auto w = random(p.w(), 2, p.type);
    const auto scale = random({1, p.in, 1, 1}, 4, p.type);
    const auto bias = random({1, p.in, 1, 1}, 5, p.type);
    const auto values = values_of(
        target, normalized_convolution_statistics(p),
        {{uid::x, x}, {uid::w, w}, {uid::scale, scale}, {uid::bias, bias}}, target.sm() == 90);
    require_statistics(values, p, true_forward(p, normalized(x, scale, bias, p.type), w));
  }
}

TEST_CASE("a filter gradient that normalizes its input matches loops", "[device]") {
  const auto target = gpu_or_skip();
  for (const auto& p : problems_of(CUDNN_DATA_HALF)) {
    const auto x = random(p.x(), 1, p.type);
    const auto dy = random(p.y(), 3, p.type);
    const auto scale = random({1, p.in, 1, 1}, 4, p.type);
    const auto bias = random({1, p.in, 1, 1}, 5, p.type);
    const auto values = values_of(
        target, normalized_backward_filter(p, p.type),
        {{uid::x, x}, {uid::dy, dy}, {uid::scale, scale}, {uid::bias, bias}}, target.sm() == 90);
    require_near(values.at(uid::dw),
                 true_backward_filter(p, normalized(x, scale, bias, p.type), dy),
                 tolerance_of(p.type));
  }
}

namespace {

/// One batch norm before a convolution: its values, and the uids that begin at `offset`.
struct BatchNorm {
  Uid offset;
  std::vector<float> x, mean, inv_std, scale, bias;

  BatchNorm(const ConvolutionProblem& p, Uid first, unsigned seed)
      : offset(first), x(random(p.x(), seed, p.type)), mean(random({1, p.in, 1, 1}, seed + 1, f32)),
        inv_std(random_values(mean.size(), seed + 2, f32, 0.5f, 2.0f)),
        scale(random_values(mean.size(), seed + 3, f32, 0.5f, 1.5f)),
        bias(random({1, p.in, 1, 1}, seed + 4, f32)) {}

  double standard(std::size_t i) const {
    const auto c = i % mean.size();
    return (static_cast<double>(x[i]) - mean[c]) * inv_std[c];
  }
  double result(std::size_t i) const {
    return standard(i) * scale[i % mean.size()] + bias[i % mean.size()];
  }
  void add_to(DeviceValues& inputs) const {
    inputs[uid::bn_x + offset] = x;
    inputs[uid::bn_mean + offset] = mean;
    inputs[uid::bn_inv_std + offset] = inv_std;
    inputs[uid::bn_scale + offset] = scale;
    inputs[uid::bn_bias + offset] = bias;
  }
  /// Requires the textbook gradients for the gradient of the result.
  void require_gradients(const DeviceValues& values, const std::vector<double>& dx,
                         double tolerance) const {
    const auto channels = mean.size();
    std::vector<double> products(dx.size());
    for (std::size_t i = 0; i < dx.size(); ++i)
      products[i] = dx[i] * standard(i);
    const auto dbias = channel_sums(dx, static_cast<std::int64_t>(channels), 1);
    const auto dscale = channel_sums(products, static_cast<std::int64_t>(channels), 1);
    require_near(values.at(uid::dbias + offset), dbias, tolerance);
    require_near(values.at(uid::dscale + offset), dscale, 2 * tolerance);
    const auto count = static_cast<double>(dx.size()) / static_cast<double>(channels);
    std::vector<double> gradient(dx.size());
    std::vector<float> applied(dx.size());
    for (std::size_t i = 0; i < dx.size(); ++i) {
      const auto c = i % channels;
      gradient[i] =
          scale[c] * inv_std[c] * (dx[i] - dbias[c] / count - standard(i) * dscale[c] / count);
      applied[i] = values.at(uid::a + offset)[c] * values.at(uid::dx)[i] +
                   values.at(uid::b + offset)[c] * x[i] + values.at(uid::c + offset)[c];
    }
    require_near(applied, gradient, 2 * tolerance);
  }
};

void check_backward_data_batch_norm(const Target& target, const ConvolutionProblem& p,
                                    Residual shortcut, bool add) {
  const auto dy = random(p.y(), 3, p.type);
  const auto w = random(p.w(), 2, p.type);
  const auto other = random(p.x(), 4, p.type);
  const auto plain = random(p.x(), 5, p.type);
  const BatchNorm second(p, uid::dual_offset, 20);
  BatchNorm first(p, 0, 10);
  const auto before_relu = [&](std::size_t i) {
    const double added = shortcut == Residual::plain        ? plain[i]
                         : shortcut == Residual::normalized ? second.result(i)
                                                            : 0.0;
    return first.result(i) + added;
  };
  // Moves values away from zero, where the mask would depend on rounding.
  for (std::size_t i = 0; i < first.x.size(); ++i)
    while (std::abs(before_relu(i)) < 1e-2)
      first.x[i] = rounded(first.x[i] + 0.0625f, p.type);

  DeviceValues inputs = {{uid::dy, dy}, {uid::w, w}};
  first.add_to(inputs);
  if (add)
    inputs[uid::other_dx] = other;
  if (shortcut == Residual::plain)
    inputs[uid::shortcut] = plain;
  if (shortcut == Residual::normalized)
    second.add_to(inputs);
  auto dx = true_backward_data(p, dy, w);
  for (std::size_t i = 0; i < dx.size(); ++i)
    dx[i] = before_relu(i) > 0 ? dx[i] + (add ? other[i] : 0.0f) : 0;

  const auto values =
      values_of(target, backward_data_batch_norm(p, shortcut, add), inputs, target.sm() == 90);
  const auto tolerance = tolerance_of(p.type);
  require_near(values.at(uid::dx), dx, tolerance);
  first.require_gradients(values, dx, tolerance);
  if (shortcut == Residual::normalized)
    second.require_gradients(values, dx, tolerance);
}

} // namespace

TEST_CASE("a data gradient with batch norm's backward matches loops", "[device]") {
  const auto target = gpu_or_skip();
  for (const auto& p : problems_of(CUDNN_DATA_HALF))
    check_backward_data_batch_norm(target, p, Residual::none, false);
}

TEST_CASE("a data gradient at a block's end matches loops", "[device]") {
  const auto target = gpu_or_skip();
  for (const auto& p : problems_of(CUDNN_DATA_HALF))
    if (p.stride == 1) {
      check_backward_data_batch_norm(target, p, Residual::none, true);
      check_backward_data_batch_norm(target, p, Residual::plain, true);
      check_backward_data_batch_norm(target, p, Residual::normalized, true);
    }
}

TEST_CASE("a block's end in the next convolution matches loops", "[device]") {
  const auto target = gpu_or_skip();
  const ConvolutionProblem p = {2, 8, 8, 128, 64, 1, 1, 0, CUDNN_DATA_HALF};
  const Dims channel = {1, p.in, 1, 1};
  const auto x = random(p.x(), 1, p.type);
  const auto w = random(p.w(), 2, p.type);
  const auto scale = random(channel, 4, p.type);
  const auto bias = random(channel, 5, p.type);
  const auto dual_x = random(p.x(), 6, p.type);
  const auto dual_scale = random(channel, 7, p.type);
  const auto dual_bias = random(channel, 8, p.type);
  for (const bool dual_scaled : {false, true}) {
    std::vector<float> activation(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto c = i % scale.size();
      const auto dual = dual_scaled ? dual_scale[c] * dual_x[i] + dual_bias[c] : dual_x[i];
      activation[i] = rounded(std::max(0.0f, scale[c] * x[i] + bias[c] + dual), p.type);
    }
    DeviceValues inputs = {
        {uid::x, x}, {uid::w, w}, {uid::scale, scale}, {uid::bias, bias}, {uid::dual_x, dual_x}};
    if (dual_scaled) {
      inputs[uid::dual_scale] = dual_scale;
      inputs[uid::dual_bias] = dual_bias;
    }
    const auto values = values_of(target, residual_convolution_statistics(p, dual_scaled), inputs,
                                  target.sm() == 90);
    require_near(values.at(uid::activation), as_doubles(activation), tolerance_of(p.type));
    require_statistics(values, p, true_forward(p, activation, w));
  }
}
