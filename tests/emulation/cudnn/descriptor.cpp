#include "tests/emulation/cudnn/descriptor.hpp"

#include <cstring>

namespace emulation::cudnn {

namespace {

thread_local std::string reason;

struct Rule {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  std::int64_t least = 1, most = 1; ///< 0: may be missing
};

constexpr auto tensor = CUDNN_TYPE_BACKEND_DESCRIPTOR;
constexpr std::int64_t any = 1 << 20;

/// Returns the attributes of a descriptor type, with the number of their elements.
std::vector<Rule> rules_of_parts(cudnnBackendDescriptorType_t type) {
  switch (type) {
  case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
    return {{CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64},
            {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE},
            {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, 4},
            {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, 4},
            {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64},
            {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 0},
            {CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 0}};
  case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
    return {{CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE},
            {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE},
            {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64},
            {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, 2},
            {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, 2},
            {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, 2},
            {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, 2}};
  case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
    return {{CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE},
            {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE},
            {CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 0}};
  case CUDNN_BACKEND_MATMUL_DESCRIPTOR:
    return {{CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE}};
  case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
    return {{CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE},
            {CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE}};
  default:
    return {};
  }
}

std::vector<Rule> rules_of_operations(cudnnBackendDescriptorType_t type) {
  switch (type) {
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    return {{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensor},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tensor},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, tensor},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, tensor},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT}};
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    return {{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, tensor},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, tensor},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, tensor},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, tensor},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT}};
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    return {{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, tensor},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, tensor},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, tensor},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, tensor},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT}};
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    return {{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, tensor},
            {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor},
            {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensor, 0},
            {CUDNN_ATTR_OPERATION_POINTWISE_TDESC, tensor, 0},
            {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor, 0},
            {CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, tensor, 0},
            {CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, tensor, 0},
            {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, 0},
            {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 0}};
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    return {{CUDNN_ATTR_OPERATION_MATMUL_DESC, tensor},
            {CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensor},
            {CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensor},
            {CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensor}};
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    return {{CUDNN_ATTR_OPERATION_REDUCTION_DESC, tensor},
            {CUDNN_ATTR_OPERATION_REDUCTION_XDESC, tensor},
            {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, tensor}};
  case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    return {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, tensor},
            {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, tensor}};
  case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
    return {{CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE},
            {CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE},
            {CUDNN_ATTR_OPERATION_GENSTATS_XDESC, tensor},
            {CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, tensor},
            {CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, tensor}};
  case CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR: {
    std::vector<Rule> rules{{CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MATH_PREC, CUDNN_TYPE_DATA_TYPE}};
    for (int name = CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC;
         name <= CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS; ++name)
      rules.push_back({static_cast<cudnnBackendAttributeName_t>(name), tensor});
    return rules;
  }
  case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    return {{CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE},
            {CUDNN_ATTR_OPERATIONGRAPH_OPS, tensor, 1, any}};
  default:
    return {};
  }
}

std::vector<Rule> rules_of_plans(cudnnBackendDescriptorType_t type) {
  switch (type) {
  case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    return {{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, tensor},
            {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE}};
  case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
    return {{CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE},
            {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, tensor, 0},
            {CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0, any}};
  case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
    return {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 1, any},
            {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1, any},
            {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR}};
  default:
    return {};
  }
}

std::vector<Rule> rules_of(cudnnBackendDescriptorType_t type) {
  for (auto* const rules : {rules_of_parts, rules_of_operations, rules_of_plans})
    if (auto found = rules(type); !found.empty())
      return found;
  return {};
}

const Rule* find(const std::vector<Rule>& rules, cudnnBackendAttributeName_t name) {
  for (const auto& rule : rules)
    if (rule.name == name)
      return &rule;
  return nullptr;
}

std::string numbered(const char* what, int number) {
  return what + (" " + std::to_string(number));
}

} // namespace

cudnnStatus_t refuse(cudnnStatus_t status, std::string why) {
  reason = std::move(why);
  return status;
}

const std::string& last_reason() {
  return reason;
}

std::size_t size_of_attribute(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_DOUBLE:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_HANDLE:
    return 8;
  case CUDNN_TYPE_BOOLEAN:
  case CUDNN_TYPE_CHAR:
    return 1;
  default: // enumerations and floats
    return 4;
  }
}

cudnnStatus_t set(Descriptor& descriptor, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
  const auto rules = rules_of(descriptor.type);
  const auto* const rule = find(rules, name);
  if (!rule)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, numbered("this descriptor has no attribute", name));
  if (descriptor.finalized || rule->type != type || count < rule->least || count > rule->most ||
      !values)
    return refuse(CUDNN_STATUS_BAD_PARAM, numbered("type, number or time of attribute", name));
  Descriptor::Attribute attribute{type, {}, {}};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (std::int64_t i = 0; i < count; ++i) {
      auto* const handle = static_cast<const cudnnBackendDescriptor_t*>(values)[i];
      if (!handle || !held(handle).descriptor->finalized)
        return refuse(CUDNN_STATUS_BAD_PARAM, numbered("no finalized descriptor for", name));
      attribute.descriptors.push_back(held(handle).descriptor);
    }
  } else {
    attribute.bytes.resize(static_cast<std::size_t>(count) * size_of_attribute(type));
    std::memcpy(attribute.bytes.data(), values, attribute.bytes.size());
  }
  descriptor.attributes[name] = std::move(attribute);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t check_complete(const Descriptor& descriptor) {
  const auto rules = rules_of(descriptor.type);
  if (rules.empty())
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, numbered("descriptors of type", descriptor.type));
  for (const auto& rule : rules)
    if (rule.least > 0 && !descriptor.find(rule.name))
      return refuse(CUDNN_STATUS_BAD_PARAM, numbered("there is no attribute", rule.name));
  return CUDNN_STATUS_SUCCESS;
}

} // namespace emulation::cudnn
