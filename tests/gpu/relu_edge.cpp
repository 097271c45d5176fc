#include "tests/gpu/relu_edge.hpp"

#include "core/random.hpp"
#include "gpu/kernels/batch_norm_math.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::testing {

std::vector<float> normal_floats(std::size_t count, std::uint64_t stream, float mean,
                                 float deviation) {
  CounterRng random{23, stream};
  std::vector<float> values(count);
  for (auto& value : values)
    value = mean + deviation * random.normal();
  return values;
}

std::vector<float> in_half(std::vector<float> values) {
  for (auto& value : values)
    value = rounded(value, CUDNN_DATA_HALF);
  return values;
}

ReluLayer::ReluLayer(std::uint64_t stream)
    : exact_x(normal_floats(count, stream)), mean(channels), inv_std(channels),
      scale(normal_floats(channels, stream + 1, 1, 0.2f)),
      shift(normal_floats(channels, stream + 2, 0, 0.3f)) {
  const auto centers = normal_floats(channels, stream + 3),
             widths = normal_floats(channels, stream + 4);
  for (std::size_t i = 0; i < count; ++i)
    exact_x[i] = std::exp(0.5f * widths[i % channels]) * (exact_x[i] + centers[i % channels]);
  x = in_half(exact_x);
  for (std::size_t c = 0; c < channels; ++c)
    set_statistics(c);
}

/// Computes statistics as gpu/kernels/batch_norm_statistics.cu does.
void ReluLayer::set_statistics(std::size_t channel) {
  double sum = 0, squares = 0;
  for (std::size_t i = channel; i < count; i += channels) {
    sum += static_cast<double>(x[i]);
    squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  const std::size_t rows = count / channels;
  const auto found = gpu::moments(sum, squares, 0, static_cast<double>(rows));
  mean[channel] = found.mean;
  inv_std[channel] = gpu::inverse_deviation(found.variance, 1e-5f);
  const float gain = scale[channel] * inv_std[channel];
  factor.push_back(rounded(gain, CUDNN_DATA_HALF));
  offset.push_back(rounded(shift[channel] - found.mean * gain, CUDNN_DATA_HALF));
}

double ReluLayer::result_of(float value, std::size_t channel) const {
  return (static_cast<double>(value) - static_cast<double>(mean[channel])) *
             static_cast<double>(inv_std[channel]) * static_cast<double>(scale[channel]) +
         static_cast<double>(shift[channel]);
}

double ReluLayer::rounded_result(std::size_t i) const {
  const auto c = i % channels;
  return static_cast<double>(factor[c]) * static_cast<double>(x[i]) +
         static_cast<double>(offset[c]);
}

double ReluLayer::standard(std::size_t i) const {
  const auto c = i % channels;
  return (static_cast<double>(x[i]) - static_cast<double>(mean[c])) *
         static_cast<double>(inv_std[c]);
}

double ReluLayer::error(std::size_t i) const {
  const auto c = i % channels;
  const double product = std::abs(static_cast<double>(factor[c]) * static_cast<double>(x[i]));
  return half_rounding * (2 * product + std::abs(static_cast<double>(offset[c])));
}

void ReluLayer::add_to(DeviceValues& inputs, gpu::cudnn::Uid first) const {
  namespace uid = gpu::cudnn::uid;
  inputs.insert({{uid::bn_x + first, x},
                 {uid::bn_mean + first, mean},
                 {uid::bn_inv_std + first, inv_std},
                 {uid::bn_scale + first, scale},
                 {uid::bn_bias + first, shift}});
}

ReluEdge::ReluEdge(Residual of) : shortcut(of), added(in_half(normal_floats(first.count, 300))) {
  for (auto& value : added) // the shortcut is the output of a ReLU
    value = std::max(value, 0.0f);
}

double ReluEdge::sum(std::size_t i, double (ReluLayer::*of)(std::size_t) const) const {
  const double own = (first.*of)(i);
  switch (shortcut) {
  case Residual::plain:
    return own + static_cast<double>(added[i]);
  case Residual::normalized:
    return own + (second.*of)(i);
  default:
    return own;
  }
}

double ReluEdge::error(std::size_t i) const {
  return first.error(i) + (shortcut == Residual::normalized ? second.error(i) : 0.0);
}

double ReluEdge::bound() const {
  constexpr double window = 64;
  std::size_t near = 0;
  for (std::size_t i = 0; i < first.count; ++i)
    near += std::abs(value(i)) <= window * error(i);
  return static_cast<double>(near) / (2 * window * static_cast<double>(first.count));
}

} // namespace troupe::testing
