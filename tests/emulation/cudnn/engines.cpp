#include "tests/emulation/cudnn/engines.hpp"

#include "tests/emulation/cudnn/attention.hpp"

#include <algorithm>
#include <cstdlib>

namespace emulation::cudnn {

namespace {

constexpr std::int64_t tensor_cores = 62, plain = 1, atomic_adds = 3, split = 67, fused = 2,
                       general = 5, unlaunchable = 9;

bool is_convolution(const Node& node) {
  return node.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
         node.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ||
         node.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
}

bool has(const Graph& graph, cudnnBackendDescriptorType_t type) {
  return std::ranges::any_of(graph.nodes, [type](const Node& node) { return node.type == type; });
}

bool has_type(const Graph& graph, Type type) {
  return std::ranges::any_of(graph.tensors, [type](const auto& entry) {
    return !entry.second.is_virtual && entry.second.type == type;
  });
}

/// Whether a graph is a stem, to which no engine fuses anything.
bool reads_few_channels(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return is_convolution(node) && std::ranges::any_of(node.tensors, [&](const auto& entry) {
             return graph.tensors.at(entry.second).channels() % 8 != 0;
           });
  });
}

/// Whether a graph is a filter gradient in f32 from narrower tensors.
bool widens(const Graph& graph) {
  return graph.nodes.size() == 2 &&
         graph.nodes.front().type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
}

/// Whether a graph has the additional parts of a block's end: an activation that is written and
/// convolved, or more than one batch norm whose ReLU gives the mask.
bool ends_block(const Graph& graph) {
  constexpr int mask = 5;
  int pointwise = 0;
  for (const auto& node : graph.nodes)
    pointwise += node.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
  if (has(graph, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR))
    return pointwise > mask;
  const auto written = graph.written();
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (node.type != CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
      return false;
    const auto x = node.tensor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
    return !graph.tensors.at(x).is_virtual && std::ranges::count(written, x) > 0;
  });
}

/// Only for f16 and a stride of 1; forward, only for 1x1 filters.
bool fuses_end(const Graph& graph) {
  const auto node = *std::ranges::find_if(graph.nodes, is_convolution);
  const bool backward = node.has(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
  const auto& w = graph.at(node, backward ? CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W
                                          : CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
  return has_type(graph, Type::f16) && (backward || w.dims[2] == 1) &&
         node.number(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES) == 1;
}

bool fuses(const Graph& graph) {
  if (has_type(graph, Type::f32) && !has_type(graph, Type::f16) && !has_type(graph, Type::bf16))
    return false;
  if (reads_few_channels(graph) || (ends_block(graph) && !fuses_end(graph)))
    return false;
  if (has(graph, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) || widens(graph))
    return true;
  // Fused backward exists only in f16, with filter gradients of that type.
  return has_type(graph, Type::f16) &&
         (!has(graph, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR) ||
          !has_type(graph, Type::f32));
}

/// Engines of attention have numbers of their own, as on Hopper.
constexpr std::int64_t attention_forward = 2, other_attention_forward = 1, attention_backward = 6,
                       other_attention_backward = 7;

/// Deterministic engines write the gradients of all scores, of whole tiles. Another one keeps a
/// copy of dq in f32.
std::int64_t workspace_of(std::int64_t index, const AttentionGraph& graph) {
  constexpr std::int64_t tile = 128;
  const auto heads = graph.batch * graph.heads;
  const auto padded = (graph.sequence + tile - 1) / tile * tile;
  if (!graph.backward)
    return 0;
  if (graph.deterministic)
    return heads * padded * padded * 2;
  return index == other_attention_backward ? heads * graph.sequence * graph.head_dim * 4 : 0;
}

/// cuDNN 9.24 marks none of them as nondeterministic.
Engine attention_engine_at(std::int64_t index, const AttentionGraph& graph) {
  Engine engine{index, workspace_of(index, graph), false, true, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}};
  engine.launches = !std::getenv("TROUPE_EMULATED_NO_ATTENTION");
  return engine;
}

std::vector<std::int64_t> propose(const AttentionGraph& graph, cudnnBackendHeurMode_t mode) {
  if (mode == CUDNN_HEUR_MODE_FALLBACK)
    return {};
  return graph.backward ? std::vector{attention_backward, other_attention_backward}
                        : std::vector{attention_forward, other_attention_forward};
}

} // namespace

Engine engine_at(std::int64_t index, const Graph& graph) {
  if (const auto attention = attention_of(graph))
    return attention_engine_at(index, *attention);
  const bool f32 = !has_type(graph, Type::f16) && !has_type(graph, Type::bf16);
  switch (index) {
  case tensor_cores:
    return {index, 0, f32, false, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}};
  case split:
    return {index, 1 << 16, f32, false, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}};
  case atomic_adds:
    return {index, 0, false, false, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}};
  case fused:
    return {index, 4096, false, false, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}};
  case unlaunchable:
    return {index, 0, false, false, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, false};
  case general:
    return {index, 0, f32, true, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}};
  default:
    return {plain, 0, false, false, {}};
  }
}

std::vector<std::int64_t> propose(const Graph& graph, cudnnBackendHeurMode_t mode) {
  if (const auto attention = attention_of(graph))
    return propose(*attention, mode);
  const bool alone = graph.nodes.size() == 1 && is_convolution(graph.nodes.front());
  if (!alone && !fuses(graph))
    return {};
  switch (mode) {
  case CUDNN_HEUR_MODE_A:
    return alone           ? std::vector<std::int64_t>{tensor_cores, general, split, atomic_adds}
           : widens(graph) ? std::vector<std::int64_t>{general}
                           : std::vector<std::int64_t>{fused};
  case CUDNN_HEUR_MODE_B: // repeats engines: the caller must handle duplicates
    return alone           ? std::vector<std::int64_t>{split, tensor_cores}
           : widens(graph) ? std::vector<std::int64_t>{general}
                           : std::vector<std::int64_t>{fused};
  default:
    return alone ? std::vector<std::int64_t>{plain, unlaunchable} : std::vector<std::int64_t>{};
  }
}

} // namespace emulation::cudnn
