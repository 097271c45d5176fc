// Builds a graph from descriptors.
#include "tests/emulation/cudnn/descriptor.hpp"

#include <optional>

namespace emulation::cudnn {

namespace {

using Attribute = Descriptor::Attribute;

std::vector<double> numbers_of(const Attribute& attribute) {
  const auto converted = [](const auto& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  switch (attribute.type) {
  case CUDNN_TYPE_INT64:
    return converted(attribute.as<std::int64_t>());
  case CUDNN_TYPE_FLOAT:
    return converted(attribute.as<float>());
  case CUDNN_TYPE_BOOLEAN:
    return converted(attribute.as<bool>());
  default:
    return converted(attribute.as<std::int32_t>());
  }
}

std::optional<Type> type_of(cudnnDataType_t type) {
  switch (type) {
  case CUDNN_DATA_FLOAT:
    return Type::f32;
  case CUDNN_DATA_HALF:
    return Type::f16;
  case CUDNN_DATA_BFLOAT16:
    return Type::bf16;
  case CUDNN_DATA_INT32:
    return Type::i32;
  case CUDNN_DATA_BOOLEAN:
    return Type::boolean;
  default:
    return std::nullopt;
  }
}

bool is_set(const Descriptor& d, cudnnBackendAttributeName_t name) {
  const auto* const flag = d.find(name);
  return flag && flag->as<bool>().front();
}

Dims dims_of(const Descriptor& d, cudnnBackendAttributeName_t name) {
  const auto values = d.find(name)->as<std::int64_t>();
  return {values[0], values[1], values[2], values[3]};
}

/// Returns nothing for a tensor of an unknown type.
std::optional<Tensor> tensor_of(const Descriptor& d) {
  const auto type = type_of(d.find(CUDNN_ATTR_TENSOR_DATA_TYPE)->as<cudnnDataType_t>().front());
  if (!type)
    return std::nullopt;
  return Tensor{d.find(CUDNN_ATTR_TENSOR_UNIQUE_ID)->as<std::int64_t>().front(),
                *type,
                dims_of(d, CUDNN_ATTR_TENSOR_DIMENSIONS),
                dims_of(d, CUDNN_ATTR_TENSOR_STRIDES),
                is_set(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL),
                is_set(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE),
                d.find(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)->as<std::int64_t>().front()};
}

class Builder {
public:
  cudnnStatus_t add(const Descriptor& operation) {
    Node node{operation.type, {}, {}};
    for (const auto& [name, attribute] : operation.attributes)
      if (attribute.type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
        node.numbers[name] = numbers_of(attribute);
      else if (const auto& part = *attribute.descriptors.front();
               part.type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
        add_numbers(node, part);
      else if (const auto status = add_tensor(node, name, part); status != CUDNN_STATUS_SUCCESS)
        return status;
    graph_.nodes.push_back(std::move(node));
    return CUDNN_STATUS_SUCCESS;
  }

  Graph take() { return std::move(graph_); }

private:
  static void add_numbers(Node& node, const Descriptor& part) {
    for (const auto& [name, attribute] : part.attributes)
      node.numbers[name] = numbers_of(attribute);
  }

  cudnnStatus_t add_tensor(Node& node, int name, const Descriptor& described) {
    const auto tensor = tensor_of(described);
    if (!tensor)
      return refuse(CUDNN_STATUS_NOT_SUPPORTED, "a tensor of a type that is not emulated");
    const auto [known, is_new] = graph_.tensors.emplace(tensor->uid, *tensor);
    if (!is_new && known->second != *tensor)
      return refuse(CUDNN_STATUS_BAD_PARAM,
                    "two tensors with the uid " + std::to_string(tensor->uid));
    node.tensors[name] = tensor->uid;
    return CUDNN_STATUS_SUCCESS;
  }

  Graph graph_;
};

} // namespace

cudnnStatus_t finalize_graph(Descriptor& descriptor) {
  Builder builder;
  for (const auto& operation : descriptor.find(CUDNN_ATTR_OPERATIONGRAPH_OPS)->descriptors)
    if (const auto status = builder.add(*operation); status != CUDNN_STATUS_SUCCESS)
      return status;
  auto graph = builder.take();
  if (const auto problem = problem_of(graph); !problem.empty())
    return refuse(CUDNN_STATUS_BAD_PARAM, problem);
  descriptor.graph = std::make_shared<const Graph>(std::move(graph));
  return CUDNN_STATUS_SUCCESS;
}

} // namespace emulation::cudnn
