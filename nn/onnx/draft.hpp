/// A model in ONNX's terms before it is written: nodes and their tensors.
///
/// Source: the ONNX specification, docs/IR.md, and onnx.proto of opset 17 and later.
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"
#include "core/protobuf.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::nn::onnx {

using protobuf::Message; ///< field numbers are those of onnx.proto

/// Return an attribute of a node.
Message integer_attribute(const std::string& name, std::int64_t value);
Message integers_attribute(const std::string& name, const std::vector<std::int64_t>& values);
Message real_attribute(const std::string& name, float value);

using Attributes = std::vector<Message>;

/// TensorProto.DataType
enum DataType : std::int64_t { real_data = 1, integer_data = 7, half_data = 10, double_data = 11 };

/// A constant. Its values are those of the model's tensor with this name, or are given in `bytes`.
struct Initializer {
  std::string name;
  Shape shape;
  DataType type = real_data;
  std::string bytes = {}; ///< little-endian; empty: the values of a parameter or statistic
};

/// An ONNX graph under construction. Images are (N, H, W, C) in our graphs and (N, C, H, W) here. A
/// tensor has the same name in both; weights have the same layout.
class Draft {
public:
  /// `type`: that of all computation, real_data or half_data.
  Draft(const Graph& graph, DataType type) : graph_{graph}, type_{type} {}

  const Tensor& tensor(TensorId id) const { return graph_[id]; }
  /// Returns the name of a tensor. A parameter or statistic becomes an initializer.
  std::string input(TensorId id);
  std::string output(TensorId id) const;

  void add_node(std::string_view op_type, const std::vector<std::string>& inputs,
                const std::string& output, const Attributes& attributes = {});
  /// Adds a constant of integers, for inputs that specify shapes. Returns `name`.
  std::string integers(const std::string& name, const std::vector<std::int64_t>& values);
  /// Adds a constant in f64 if `doubles` is set, otherwise in f32. Returns `name`.
  std::string reals(const std::string& name, const Shape& shape, const std::vector<double>& values,
                    bool doubles);
  /// Gives the graph's tensor another name in nodes that are added from now on.
  void rename(TensorId id, std::string name);

  const Message& nodes() const { return nodes_; }
  const std::vector<Initializer>& initializers() const { return initializers_; }

private:
  const Graph& graph_;
  DataType type_;
  Message nodes_; ///< fields 1 of the GraphProto
  std::vector<Initializer> initializers_;
  std::map<TensorId, std::string> renamed_;
};

/// Adds a node of an evaluation graph (operators.cpp). Errors: unsupported for an op without an
/// ONNX form (by name).
Status add_node(Draft& draft, const Node& node);

} // namespace troupe::nn::onnx
