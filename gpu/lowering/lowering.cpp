#include "lowering.hpp"

#include "../krsc_codec.hpp"
#include "convolution_graph.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/storage_layout.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::gpu {

namespace {

/// Parameters start at multiples of 256 bytes, so do their copies in half the size.
constexpr std::size_t slot_alignment = 128;

bool is_convolution(Op op) {
  return op == Op::conv2d || op == Op::conv2d_backward_data || op == Op::conv2d_backward_weight;
}

bool is_matmul(Op op) {
  return op == Op::matmul || op == Op::matmul_backward_data || op == Op::matmul_backward_weight;
}

bool reads_weight(Op op) {
  return op == Op::conv2d || op == Op::conv2d_backward_data || op == Op::matmul ||
         op == Op::matmul_backward_data;
}

/// Plans of libraries rely on it, and say nothing when it is not so.
Status check_alignment(const MemoryPlan& plan) {
  for (const auto offset : plan.offsets)
    if (offset != MemoryPlan::not_in_arena && offset % tensor_alignment != 0)
      return fail(Errc::internal, "the memory plan has a tensor at {}, no multiple of {} bytes",
                  offset, tensor_alignment);
  return {};
}

} // namespace

Result<std::unique_ptr<Lowering>> Lowering::make(CudaDevice& device, const Graph& graph,
                                                 const CompileOptions& options) {
  std::unique_ptr<Lowering> lowering{new Lowering{graph, options}};
  if (options.layout)
    lowering->layout = *options.layout;
  else
    lowering->store_parameters();
  TROUPE_TRY(lowering->find_copies());
  TROUPE_TRY(check_alignment(options.memory));
  auto placement = place_tensors(graph, options.memory, lowering->layout, tensor_alignment);
  if (!placement)
    return failure(placement.error());
  lowering->placement = std::move(*placement);
  // Libraries are large: those that a graph does not need are not opened.
  if (std::ranges::any_of(graph.nodes, is_convolution, &Node::op)) {
    const auto plans = device.plans();
    if (!plans)
      return failure(plans.error());
    lowering->plans = *plans;
    lowering->find_plans();
  }
  if (std::ranges::any_of(graph.nodes, is_matmul, &Node::op)) {
    const auto library = open_cublas_lt(library_places(LibraryEnvironment::of_process()));
    if (!library)
      return failure(library.error());
    auto matmuls = CublasLt::create(*library, device.info().index);
    if (!matmuls)
      return failure(matmuls.error());
    lowering->matmuls = std::move(*matmuls);
  }
  return lowering;
}

void Lowering::find_plans() {
  std::vector<cudnn::OperationGraph> all;
  for (const auto& node : graph.nodes)
    if (is_convolution(node.op))
      std::ranges::move(convolution_graphs(graph, node), std::back_inserter(all));
  plans->prepare(all, policy);
}

std::int64_t Lowering::stored_inputs(TensorId weight) const {
  for (const auto& node : graph.nodes)
    if (node.op == Op::conv2d && node.inputs[1] == weight)
      return input(node, 0).shape[3];
  return graph[weight].shape[1];
}

void Lowering::store_parameters() {
  layout = lay_out_storage(graph, slot_alignment, [this](TensorId id, Slot& slot) {
    if (slot.shape.rank() != 4)
      return;
    const auto codec = std::make_shared<KrscCodec>(slot.shape, stored_inputs(id));
    slot.elements = codec->stored_elements();
    slot.codec = codec;
  });
}

Status Lowering::find_copies() {
  copy_types.assign(graph.units.size(), DType::f32);
  for (const auto& node : graph.nodes) {
    const auto type = input(node, 0).dtype;
    if (!reads_weight(node.op) || type == DType::f32)
      continue;
    auto& copy = copy_types[static_cast<std::size_t>(input(node, 1).unit)];
    if (copy != DType::f32 && copy != type)
      return fail(Errc::unsupported, "unit {} computes in both f16 and bf16",
                  graph.units[static_cast<std::size_t>(input(node, 1).unit)]);
    copy = type;
  }
  return {};
}

TensorId Lowering::shift_of(TensorId saved_mean) const {
  for (const auto& node : graph.nodes) {
    if (node.op == Op::batch_norm && node.outputs.size() > 1 && node.outputs[1] == saved_mean)
      return node.inputs[2];
    if (node.op == Op::batch_norm_finalize && node.outputs[0] == saved_mean)
      return node.inputs[3];
  }
  return -1; // no graph that was validated
}

WeightView::WeightView(const Lowering& lowering, TensorId parameter, DType type)
    : parameter_{parameter}, copied_{type != DType::f32}, unit_{static_cast<std::size_t>(
                                                              lowering.graph[parameter].unit)} {
  const auto place = lowering.placement.places[static_cast<std::size_t>(parameter)];
  copy_offset_ = place.offset / sizeof(float) * size_of(type);
}

void* WeightView::data(const Launch& launch) const {
  return copied_ ? launch.copies[unit_] + copy_offset_ : launch.data(parameter_);
}

} // namespace troupe::gpu
