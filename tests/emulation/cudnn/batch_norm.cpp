#include "tests/emulation/cudnn/batch_norm.hpp"

namespace emulation::cudnn {

ChannelSums channel_sums(const std::vector<float>& x, std::size_t channels) {
  std::vector<double> sums(channels), squares(channels);
  for (std::size_t i = 0; i < x.size(); ++i) {
    sums[i % channels] += static_cast<double>(x[i]);
    squares[i % channels] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  return {{sums.begin(), sums.end()}, {squares.begin(), squares.end()}};
}

// With h = (x - mean)·inv_std over M values: dscale = sum(dy·h), dbias = sum(dy), and dx =
// scale·inv_std·(dy - dbias/M - h·dscale/M) as a·dy + b·x + c.
BatchNormGradients batch_norm_backward(const std::vector<float>& x, const std::vector<float>& dy,
                                       const std::vector<float>& mean,
                                       const std::vector<float>& inv_std,
                                       const std::vector<float>& scale) {
  const auto channels = mean.size();
  std::vector<double> scales(channels), biases(channels);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto k = i % channels;
    const double h = (static_cast<double>(x[i]) - static_cast<double>(mean[k])) *
                     static_cast<double>(inv_std[k]);
    scales[k] += static_cast<double>(dy[i]) * h;
    biases[k] += static_cast<double>(dy[i]);
  }
  const auto count = static_cast<double>(x.size()) / static_cast<double>(channels);
  std::vector<float> a(channels), b(channels), c(channels);
  for (std::size_t k = 0; k < channels; ++k) {
    const auto inverse = static_cast<double>(inv_std[k]);
    const double gain = static_cast<double>(scale[k]) * inverse;
    a[k] = static_cast<float>(gain);
    b[k] = static_cast<float>(-gain * inverse * scales[k] / count);
    c[k] = static_cast<float>(
        gain * (static_cast<double>(mean[k]) * inverse * scales[k] - biases[k]) / count);
  }
  return {{scales.begin(), scales.end()}, {biases.begin(), biases.end()}, a, b, c};
}

} // namespace emulation::cudnn
