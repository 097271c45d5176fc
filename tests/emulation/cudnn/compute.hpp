/// Computes a graph one operation after the other, in f32; each result is rounded to the type of
/// its tensor.
#pragma once

#include "tests/emulation/cudnn/graph.hpp"

namespace emulation::cudnn {

struct Arguments {
  std::map<Uid, void*> memory;  ///< of the tensors that have memory
  std::map<Uid, float> numbers; ///< of the tensors that are passed by value
};

/// `tf32`: rounds the factors of f32 convolutions.
void compute(const Graph& graph, const Arguments& arguments, bool tf32);

} // namespace emulation::cudnn
