/// A model in ONNX's terms, before it is written: nodes and the tensors that they take.
///
/// Source: the ONNX specification, docs/IR.md, and onnx.proto of opset 17 and later.
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"
#include "core/protobuf.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::nn::onnx {

using protobuf::Message; ///< field numbers are those of onnx.proto

/// An attribute of a node.
Message integer_attribute(const std::string& name, std::int64_t value);
Message integers_attribute(const std::string& name, const std::vector<std::int64_t>& values);
Message real_attribute(const std::string& name, float value);

using Attributes = std::vector<Message>;

/// Type of a constant's values; `graph`: one that tensors of graphs have.
enum class ElementType : std::uint8_t { graph, i64, f64 };

/// A constant. Its values are the model's, by name, or (`bytes`) known already.
struct Initializer {
  std::string name;
  Shape shape;
  DType dtype = DType::f32;
  ElementType type = ElementType::graph; ///< other than `dtype`
  std::string bytes = {}; ///< little-endian; empty: a parameter's or statistic's values
};

/// Images are (N, H, W, C) in graphs and (N, C, H, W) here: the same tensor has the same name in
/// both, weights have one layout.
class Draft {
public:
  Draft(const Graph& graph, int opset, DType dtype) : graph_{graph}, opset_{opset}, dtype_{dtype} {}

  const Graph& graph() const { return graph_; }
  int opset() const { return opset_; }
  /// Of all that is computed with: f32 or f16.
  DType dtype() const { return dtype_; }
  const Tensor& tensor(TensorId id) const { return graph_[id]; }
  /// What a tensor is called; a parameter or statistic becomes an initializer.
  std::string input(TensorId id);
  std::string output(TensorId id) const;

  void add_node(std::string_view op_type, const std::vector<std::string>& inputs,
                const std::string& output, const Attributes& attributes = {});
  /// Of integers, for inputs that say shapes; `name` gets it.
  std::string integers(const std::string& name, const std::vector<std::int64_t>& values);
  /// In f64, or else in f32.
  std::string reals(const std::string& name, const Shape& shape, const std::vector<double>& values,
                    bool doubles);
  /// The graph's tensor goes by another name from here on: what was added stands before it.
  void rename(TensorId id, std::string name);

  const Message& nodes() const { return nodes_; }
  const std::vector<Initializer>& initializers() const { return initializers_; }

private:
  const Graph& graph_;
  int opset_;
  DType dtype_;
  Message nodes_; ///< the graph's fields 1
  std::vector<Initializer> initializers_;
  std::vector<std::pair<TensorId, std::string>> renamed_;
};

} // namespace troupe::nn::onnx
