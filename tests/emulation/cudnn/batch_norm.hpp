/// Sums of batch norm over channels-last images, in f64.
#pragma once

#include <cstddef>
#include <vector>

namespace emulation::cudnn {

struct ChannelSums {
  std::vector<float> sums, squares;
};
ChannelSums channel_sums(const std::vector<float>& x, std::size_t channels);

/// dx = a·dy + b·x + c.
struct BatchNormGradients {
  std::vector<float> dscale, dbias, a, b, c;
};
BatchNormGradients batch_norm_backward(const std::vector<float>& x, const std::vector<float>& dy,
                                       const std::vector<float>& mean,
                                       const std::vector<float>& inv_std,
                                       const std::vector<float>& scale);

} // namespace emulation::cudnn
