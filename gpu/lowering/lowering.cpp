#include "lowering.hpp"

#include "../krsc_codec.hpp"
#include "convolution_graph.hpp"
#include "troupe/core/device/storage_layout.hpp"
#include "troupe/core/fail.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::gpu {

namespace {

/// Parameters start at multiples of 256 bytes, so do their copies in half the size.
constexpr std::size_t slot_alignment = 128;

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
  std::unique_ptr<Lowering> lowering{new Lowering{device, graph, options}};
  if (options.layout)
    lowering->layout = *options.layout;
  else
    lowering->store_parameters();
  TROUPE_TRY(check_alignment(options.memory));
  TROUPE_TRY(lowering->placement,
             place_tensors(graph, options.memory, lowering->layout, tensor_alignment));
  TROUPE_TRY(lowering->find_plans());
  return lowering;
}

Status Lowering::find_plans() {
  std::vector<cudnn::OperationGraph> all;
  for (const auto& node : graph.nodes)
    std::ranges::move(convolution_graphs(graph, node), std::back_inserter(all));
  if (all.empty()) // cuDNN is large: a graph that does not need it does not open it
    return {};
  TROUPE_TRY(plans, device_.plans());
  plans->prepare(all, policy);
  return {};
}

Result<std::shared_ptr<CublasLt>> Lowering::cublas() {
  if (cublas_)
    return cublas_;
  TROUPE_TRY(const auto library, open_cublas_lt(library_places(LibraryEnvironment::of_process())));
  auto opened = CublasLt::create(library, device_.info().index);
  if (opened)
    cublas_ = *opened;
  return opened;
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

Result<WeightView> Lowering::view_weight(TensorId parameter, DType type) {
  const auto unit = graph[parameter].unit;
  if (type == DType::f32)
    return WeightView{parameter, unit};
  auto& copy = copy_types[static_cast<std::size_t>(unit)];
  if (copy != DType::f32 && copy != type)
    return fail(Errc::unsupported, "unit {} computes in both {} and {}",
                graph.units[static_cast<std::size_t>(unit)], to_string(copy), to_string(type));
  copy = type;
  const auto place = placement.places[static_cast<std::size_t>(parameter)];
  return WeightView{parameter, unit, place.offset / sizeof(float) * size_of(type)};
}

TensorId Lowering::shift_of(TensorId saved_mean) const {
  for (const auto& node : graph.nodes) {
    if (node.op == Op::batch_norm && node.outputs.size() > 1 && node.outputs[1] == saved_mean)
      return node.inputs[2];
    if (node.op == Op::batch_norm_finalize && node.outputs[0] == saved_mean)
      return node.inputs[3];
  }
  return -1; // never, in a graph that was validated
}

void* WeightView::data(const Launch& launch) const {
  return offset_ ? launch.copies[static_cast<std::size_t>(unit_)] + *offset_
                 : launch.data(parameter_);
}

} // namespace troupe::gpu
