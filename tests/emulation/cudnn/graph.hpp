/// An operation graph built from its descriptors, checked as far as is possible one operation at a
/// time, and its text form.
#pragma once

#include "tests/emulation/cudnn/layout.hpp"
#include "tests/emulation/values.hpp"

#include <cstdint>
#include <cudnn.h>
#include <map>
#include <string>
#include <vector>

namespace emulation::cudnn {

using Uid = std::int64_t;

struct Tensor {
  Uid uid;
  Type type;
  Dims dims, strides;
  bool is_virtual;  ///< exists only inside of the kernel
  bool is_by_value; ///< a number in the memory of the host, read when a plan is executed
  std::int64_t alignment;

  bool has_memory() const { return !is_virtual && !is_by_value; }
  std::int64_t channels() const { return dims[1]; }
  /// Returns the distance from the first byte to the end of the last element.
  std::size_t span_bytes() const;
  bool operator==(const Tensor&) const = default;
};

/// An operation, including the contents of its nested descriptors.
struct Node {
  cudnnBackendDescriptorType_t type;
  std::map<int, Uid> tensors;                 ///< by attribute
  std::map<int, std::vector<double>> numbers; ///< by attribute

  bool has(cudnnBackendAttributeName_t name) const { return tensors.contains(name); }
  Uid tensor(cudnnBackendAttributeName_t name) const { return tensors.at(name); }
  /// Returns the first number of an attribute, converted to T.
  template <class T = int>
  T number(cudnnBackendAttributeName_t name, double otherwise = 0) const {
    const auto found = numbers.find(name);
    return static_cast<T>(
        static_cast<std::int64_t>(found == numbers.end() ? otherwise : found->second.at(0)));
  }
  double real(cudnnBackendAttributeName_t name, double otherwise) const {
    const auto found = numbers.find(name);
    return found == numbers.end() ? otherwise : found->second.at(0);
  }
};

struct Graph {
  std::map<Uid, Tensor> tensors;
  std::vector<Node> nodes;

  const Tensor& at(const Node& node, cudnnBackendAttributeName_t name) const {
    return tensors.at(node.tensor(name));
  }
  /// Returns the tensors that nodes write.
  std::vector<Uid> written() const;
};

/// Returns the attributes that name a node's outputs.
std::vector<cudnnBackendAttributeName_t> outputs_of(const Node& node);

/// Returns the reason why no library could compute this graph; empty when one could. Reasons:
/// shapes or layouts that do not fit, tensors that are written twice, virtual tensors that no node
/// writes.
std::string problem_of(const Graph& graph);

std::string to_text(const Graph& graph, std::int64_t engine);
/// Returns false for text in another format.
bool from_text(const std::string& text, Graph& graph, std::int64_t& engine);

} // namespace emulation::cudnn
