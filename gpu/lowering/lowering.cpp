#include "gpu/lowering/lowering.hpp"

#include "core/fail.hpp"
#include "gpu/lowering/attention_graph.hpp"
#include "gpu/lowering/convolution_graph.hpp"
#include "gpu/lowering/storage.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::gpu {

namespace {

/// Checks the alignment that plans of libraries rely on without checking it.
Status check_alignment(const MemoryPlan& plan) {
  for (const auto offset : plan.offsets)
    if (offset != MemoryPlan::not_in_arena && offset % tensor_alignment != 0)
      return fail(Errc::internal,
                  "the memory plan places a tensor at {}, which is not a multiple of {} bytes",
                  offset, tensor_alignment);
  return {};
}

} // namespace

Result<std::unique_ptr<Lowering>> Lowering::make(CudaDevice& device, const Graph& graph,
                                                 const CompileOptions& options) {
  std::unique_ptr<Lowering> lowering{new Lowering{device, graph, options}};
  lowering->layout = options.layout ? *options.layout : store_parameters(graph);
  TROUPE_TRY(lowering->copy_types, gpu::copy_types(graph));
  TROUPE_TRY(check_alignment(options.memory));
  TROUPE_TRY(lowering->placement,
             place_tensors(graph, options.memory, lowering->layout, tensor_alignment));
  TROUPE_TRY(lowering->find_plans());
  return lowering;
}

/// cuDNN is large: a graph that does not need it does not open it.
Status Lowering::find_plans() {
  std::vector<cudnn::OperationGraph> convolutions;
  for (const auto& node : graph.nodes)
    std::ranges::move(convolution_graphs(graph, node), std::back_inserter(convolutions));
  if (!convolutions.empty()) {
    TROUPE_TRY(plans, device_.plans());
    plans->prepare(convolutions, policy);
  }
  const auto attention = attention_graphs(graph, policy);
  if (attention.empty() || !options.fused_attention)
    return {};
  if (const auto opened = device_.plans()) {
    plans = *opened;
    prepare_attention(*plans, policy, attention);
  } else {
    device_.say(fmt::format("attention uses troupe's kernels: {}", opened.error().message));
  }
  return {};
}

Result<std::optional<TimedPlan>> Lowering::attention(const Node& node) const {
  if (!plans || !options.fused_attention)
    return std::nullopt;
  return attention_plan(*plans, policy, graph, node);
}

std::size_t Lowering::staging_bytes() const {
  return std::ranges::max(narrow_gradients, {}, &NarrowGradients::bytes).bytes;
}

bool Lowering::add_without_copy(TensorId output) {
  const bool adds = is_final_gradient(graph, output);
  if (adds)
    summed.insert(output);
  return adds;
}

Result<ChosenMatmul> Lowering::product(MatmulOptions wanted) {
  wanted.tf32 = options.tf32;
  wanted.workspace_bytes = product_workspace;
  TROUPE_TRY(auto* const registry, device_.products());
  return registry->product(wanted, options.deterministic);
}

Result<DeviceRates> Lowering::rates() const {
  return DeviceRates::of_device(device_.info().index);
}

WeightView Lowering::view_weight(TensorId weight, DType type) const {
  const auto& tensor = graph[weight];
  if (tensor.role != Role::parameter || type == tensor.dtype)
    return {.parameter = weight, .unit = tensor.unit};
  const auto place = placement.places[static_cast<std::size_t>(weight)];
  return {weight, tensor.unit, place.offset / sizeof(float) * size_of(type)};
}

bool Lowering::is_read_as(TensorId weight, DType type) const {
  return graph[weight].role == Role::parameter || graph[weight].dtype == type;
}

TensorId Lowering::shift_of(TensorId saved_mean) const {
  for (const auto& node : graph.nodes) {
    if (node.op == Op::batch_norm && node.outputs.size() > 1 && node.outputs[1] == saved_mean)
      return node.inputs[2];
    if (node.op == Op::batch_norm_finalize && node.outputs[0] == saved_mean)
      return node.inputs[3];
  }
  return -1; // unreachable for a validated graph
}

bool is_final_gradient(const Graph& graph, TensorId output) {
  return graph[output].role == Role::gradient &&
         std::ranges::none_of(graph.nodes, [output](const Node& node) {
           return std::ranges::find(node.inputs, output) != node.inputs.end();
         });
}

void* WeightView::data(const Launch& launch) const {
  return offset ? launch.copies[static_cast<std::size_t>(unit)] + *offset : launch.data(parameter);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch-enum"
Result<StepPtr> lower(Lowering& lowering, const Node& node) {
  switch (node.op) {
#define TROUPE_OP(name)                                                                            \
  case Op::name:                                                                                   \
    return lower_##name(lowering, node);
#include "core/graph/ops.def"
#undef TROUPE_OP
  }
  return fail(Errc::internal, "the CUDA device does not support op {}", static_cast<int>(node.op));
}
#pragma GCC diagnostic pop

} // namespace troupe::gpu
