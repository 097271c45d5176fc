#include "nn/passes/format_input.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

bool reads(const Node& node, TensorId id) {
  return std::ranges::count(node.inputs, id) > 0;
}

void pad_channels(Graph& graph, TensorId images, std::int64_t channels) {
  auto& has = graph[images].shape.dims.back();
  const bool convolved = std::ranges::all_of(graph.nodes, [&](const Node& node) {
    return std::holds_alternative<Conv2dAttributes>(node.attributes) || !reads(node, images);
  });
  if (channels <= has || !convolved)
    return;
  for (auto& node : graph.nodes)
    if (reads(node, images))
      std::get<Conv2dAttributes>(node.attributes).padded_channels = channels - has;
  has = channels;
}

} // namespace

Graph format_input(const Graph& forward, const InputFormat& format) {
  auto graph = forward;
  for (const auto images : graph.with_role(Role::input)) {
    if (graph[images].dtype == DType::i32)
      continue; // ids must not be rounded
    graph[images].dtype = format.dtype;
    pad_channels(graph, images, format.channels);
  }
  return graph;
}

InputFormat input_format(const Graph& graph) {
  const auto& images = graph[graph.with_role(Role::input).front()];
  return {images.dtype, images.shape.dims.back()};
}

} // namespace troupe::nn
