/// Convolutions of channels-last images, in f32.
#pragma once

#include <cstdint>
#include <vector>

namespace emulation::cudnn {

/// x is (N, H, W, C), w (K, R, S, C), y (N, OH, OW, K).
struct ConvolutionShape {
  std::int64_t batch, height, width, in, out_height, out_width, out, rows, columns, stride, padding;
};
std::vector<float> convolve(const ConvolutionShape& shape, const std::vector<float>& x,
                            const std::vector<float>& w);
std::vector<float> convolve_backward_data(const ConvolutionShape& shape,
                                          const std::vector<float>& dy,
                                          const std::vector<float>& w);
std::vector<float> convolve_backward_filter(const ConvolutionShape& shape,
                                            const std::vector<float>& x,
                                            const std::vector<float>& dy);

} // namespace emulation::cudnn
