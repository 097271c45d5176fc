#include "nn/shape_rules.hpp"

#include "core/fail.hpp"
#include "nn/ops/record.hpp"

namespace troupe::nn {

namespace {

std::vector<TensorType> types_of(const Graph& graph, const std::vector<TensorId>& ids) {
  std::vector<TensorType> types;
  types.reserve(ids.size());
  for (const auto id : ids)
    types.push_back({graph[id].shape, graph[id].dtype});
  return types;
}

/// Adds the op's name to an error of a rule.
auto named(Op op, const Error& error) {
  return fail(error.code, "{}: {}", to_string(op), error.message);
}

std::string describe(const TensorType& type) {
  return fmt::format("{} {}", to_string(type.dtype), type.shape.to_string());
}

Status expect_same(Op op, Types outputs, Types expected) {
  if (outputs.size() != expected.size())
    return fail(Errc::invalid_input, "{}: returns {} outputs, has {}", to_string(op),
                expected.size(), outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != expected[i])
      return fail(Errc::invalid_input, "{}: an output must be {}, is {}", to_string(op),
                  describe(expected[i]), describe(outputs[i]));
  return {};
}

} // namespace

OutputTypes infer_outputs(Op op, const Attributes& attributes, Types inputs) {
  const auto infer = record_of(op).infer;
  if (!infer)
    return fail(Errc::internal, "{} has no shape rule", to_string(op));
  auto outputs = (*infer)(attributes, inputs);
  if (!outputs)
    return named(op, outputs.error());
  return outputs;
}

DType read_type(const Graph& graph, const Node& node, std::size_t input) {
  const bool rounded = record_of(node.op).rounded.contains(input);
  return graph[node.inputs[rounded ? 0 : input]].dtype;
}

DType computed_type(const Graph& graph, const Node& node) {
  return record_of(node.op).converts ? graph[node.outputs[0]].dtype : read_type(graph, node, 0);
}

Status check_node(const Graph& graph, const Node& node) {
  const auto in = types_of(graph, node.inputs), out = types_of(graph, node.outputs);
  if (const auto check = record_of(node.op).check) {
    const auto fits = (*check)(node.attributes, in, out);
    return fits ? Status{} : named(node.op, fits.error());
  }
  TROUPE_TRY(const auto expected, infer_outputs(node.op, node.attributes, in));
  return expect_same(node.op, out, expected);
}

} // namespace troupe::nn
