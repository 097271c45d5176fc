/// Computes a graph one operation after the other, in f32 (sums over a tensor in f64); what an
/// operation writes is rounded to the tensor's type.
#pragma once

#include "tests/emulation/cudnn/graph.hpp"

#include <vector>

namespace emulation::cudnn {

/// Everything but virtual tensors has its pointer. `tf32`: factors of f32 convolutions are rounded.
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
