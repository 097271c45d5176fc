#include "gpu/lowering/storage.hpp"

#include "core/device/storage_layout.hpp"
#include "core/fail.hpp"

namespace troupe::gpu {

namespace {

/// In elements. Parameters start at multiples of 512 bytes, so their half-size copies start at
/// multiples of 256.
constexpr std::size_t slot_alignment = 128;

/// Returns the input channels that a convolution weight is stored with.
std::int64_t stored_inputs(const Graph& graph, TensorId weight) {
  for (const auto& node : graph.nodes)
    if (node.op == Op::conv2d && node.inputs[1] == weight)
      return graph[node.inputs[0]].shape[3];
  return graph[weight].shape[1];
}

/// Returns the parameters that a node reads in the type of its first input.
std::vector<TensorId> read_as_copies(const Graph& graph, const Node& node) {
  std::vector<TensorId> read;
  switch (node.op) {
  case Op::matmul:
    if (node.inputs.size() == 3 && graph[node.outputs[0]].dtype != DType::f32)
      read.push_back(node.inputs[2]); // a bias
    [[fallthrough]];
  case Op::conv2d:
  case Op::conv2d_backward_data:
  case Op::matmul_backward_data:
  case Op::linear_cross_entropy:
  case Op::linear_cross_entropy_backward:
    read.push_back(node.inputs[1]);
    break;
  default:
    break;
  }
  std::erase_if(read, [&](TensorId id) { return graph[id].role != Role::parameter; });
  return read;
}

} // namespace

StorageLayout store_parameters(const Graph& graph) {
  return lay_out_storage(graph, slot_alignment, [&graph](TensorId id, Slot& slot) {
    if (slot.shape.rank() != 4)
      return;
    const auto codec = std::make_shared<KrscCodec>(slot.shape, stored_inputs(graph, id));
    slot.elements = codec->stored_elements();
    slot.codec = codec;
  });
}

Result<std::vector<DType>> copy_types(const Graph& graph) {
  std::vector<DType> types(graph.units.size(), DType::f32);
  for (const auto& node : graph.nodes) {
    const auto type = graph[node.inputs[0]].dtype;
    if (type == DType::f32)
      continue;
    for (const auto parameter : read_as_copies(graph, node)) {
      const auto unit = static_cast<std::size_t>(graph[parameter].unit);
      if (types[unit] != DType::f32 && types[unit] != type)
        return fail(Errc::unsupported, "unit {} computes in both {} and {}", graph.units[unit],
                    to_string(types[unit]), to_string(type));
      types[unit] = type;
    }
  }
  return types;
}

DType common_copy_type(std::span<const DType> types, std::span<const std::size_t> unit_elements) {
  DType common = DType::f32;
  for (std::size_t unit = 0; unit < types.size(); ++unit) {
    if (unit_elements[unit] == 0)
      continue;
    if (types[unit] == DType::f32 || (common != DType::f32 && common != types[unit]))
      return DType::f32;
    common = types[unit];
  }
  return common;
}

} // namespace troupe::gpu
