/// Computes a graph one operation after the other, in f32 (sums over a tensor in f64); each result
/// is rounded to the type of its tensor.
#pragma once

#include "tests/emulation/cudnn/graph.hpp"

#include <vector>

namespace emulation::cudnn {

/// `pointers`: an address for every tensor that is not virtual. `tf32`: rounds the factors of f32
/// convolutions.
void compute(const Graph& graph, const std::map<Uid, void*>& pointers, bool tf32);

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
