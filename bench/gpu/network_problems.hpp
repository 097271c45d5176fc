/// The distinct convolutions of a model, for which plans are probed.
#pragma once

#include "gpu/cudnn/patterns.hpp"
#include "nn/models/models.hpp"

#include <algorithm>
#include <variant>
#include <vector>

namespace troupe::bench {

/// Returns each distinct convolution once, in graph order. Input channels are padded to a multiple
/// of 4, as the device stores images.
inline std::vector<gpu::cudnn::ConvolutionProblem> convolutions_of(const Graph& graph,
                                                                   cudnnDataType_t type) {
  std::vector<gpu::cudnn::ConvolutionProblem> problems;
  for (const auto& node : graph.nodes) {
    if (node.op != Op::conv2d)
      continue;
    const auto& x = graph[node.inputs[0]].shape;
    const auto& w = graph[node.inputs[1]].shape;
    const auto& attributes = std::get<Conv2dAttributes>(node.attributes);
    const gpu::cudnn::ConvolutionProblem problem = {x[0],
                                                    x[1],
                                                    x[2],
                                                    (x[3] + 3) / 4 * 4,
                                                    w[0],
                                                    attributes.kernel,
                                                    attributes.stride,
                                                    attributes.padding,
                                                    type};
    if (std::find(problems.begin(), problems.end(), problem) == problems.end())
      problems.push_back(problem);
  }
  return problems;
}

/// Builds ResNet-50 for images of 224, or ResNet-18 for images of 32 with the CIFAR stem. Errors:
/// those of build_model.
inline Result<Graph> probed_network(const std::string& name, std::int64_t batch,
                                    std::int64_t image_size, Stem stem) {
  ModelConfig model;
  model.name = name;
  model.stem = stem;
  nn::ModelOptions options;
  options.batch = batch;
  options.input = nn::image_input(image_size);
  return nn::build_model(model, options);
}

} // namespace troupe::bench
