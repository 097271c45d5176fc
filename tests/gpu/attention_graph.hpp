/// A graph with attention only, for tests of how it is lowered.
#pragma once

#include "core/graph/graph.hpp"

namespace troupe::testing {

/// Node 0: causal_attention of two sequences with two heads, with q, k and v in one tensor. Node 1:
/// its backward pass.
inline Graph attention_graph(DType type, std::int64_t sequence, std::int64_t head_dim) {
  const auto rows = 2 * sequence;
  const Shape wide{rows, 6 * head_dim}, narrow{rows, 2 * head_dim};
  const AttentionAttributes attributes{sequence, 2, 2, head_dim};
  Graph graph;
  graph.tensors = {{.name = "qkv", .shape = wide, .dtype = type},
                   {.name = "y", .shape = narrow, .dtype = type},
                   {.name = "log_sum_exp", .shape = {4, sequence}},
                   {.name = "dy", .shape = narrow, .dtype = type},
                   {.name = "dqkv", .shape = wide, .dtype = type}};
  graph.nodes = {
      {.op = Op::causal_attention, .inputs = {0}, .outputs = {1, 2}, .attributes = attributes},
      {.op = Op::causal_attention_backward,
       .inputs = {3, 0, 1, 2},
       .outputs = {4},
       .attributes = attributes}};
  return graph;
}

} // namespace troupe::testing
