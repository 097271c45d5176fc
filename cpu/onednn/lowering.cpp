#include "cpu/onednn/lowering.hpp"

#include "core/device/storage_layout.hpp"
#include "core/fail.hpp"
#include "cpu/onednn/detail/codec.hpp"
#include "cpu/onednn/detail/convert.hpp"
#include "cpu/onednn/detail/instruction_set.hpp"
#include "cpu/onednn/detail/panel_products.hpp"
#include "cpu/onednn/detail/panel_weights.hpp"
#include "cpu/onednn/detail/winograd.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

/// Parameters start on cache lines.
constexpr std::size_t slot_alignment = 16;
constexpr std::size_t tensor_alignment = 64; ///< bytes

} // namespace

DType arithmetic_type(DType activations) {
  const bool widens =
      activations == DType::f16 || (activations == DType::bf16 && !library_multiplies_bf16_fast());
  return widens ? DType::f32 : activations;
}

Result<std::unique_ptr<Lowering>> Lowering::make(HostDevice& device, const Graph& graph,
                                                 const CompileOptions& options, Bf16Mode bf16) {
  std::unique_ptr<Lowering> lowering{new Lowering{device, graph, options}};
  lowering->widen_bf16 =
      bf16 == Bf16Mode::automatic ? !library_multiplies_bf16_fast() : bf16 == Bf16Mode::widened;
  if (options.layout)
    TROUPE_TRY(lowering->take_layout(*options.layout));
  else
    lowering->store_parameters();
  TROUPE_TRY(auto placed, place_tensors(graph, options.memory, lowering->layout, tensor_alignment));
  lowering->places = std::move(placed.places);
  lowering->own_bytes = placed.own_bytes;
  return lowering;
}

Result<const ParameterCopy*> Lowering::copy_of(TensorId parameter, const dnnl::memory::desc& from,
                                               const dnnl::memory::desc& wanted,
                                               DType activations) {
  // bf16 is either the wanted type, or keeps the weights' precision (Bf16Mode).
  const auto values = activations == DType::f16 ? DType::f16 : DType::f32;
  if (from == wanted && values == DType::f32)
    return nullptr;
  for (const auto& made : reordered_)
    if (made.parameter == parameter && made.layout == wanted && made.values == values)
      return made.copy;
  auto primitive = reorder(library, from, wanted);
  std::shared_ptr<Buffer> scratch;
  if (const auto bytes = primitive.scratchpad_bytes(); bytes > 0) {
    TROUPE_TRY(scratch, device_.allocate(bytes, MemoryKind::workspace));
  }
  const auto make = [primitive, scratch, values, bytes = wanted.get_size()](std::byte* source,
                                                                            std::byte* copy) {
    primitive.run({{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, copy}},
                  scratch ? scratch->data() : nullptr);
    if (values == DType::f16)
      round_together(values, reinterpret_cast<float*>(copy), bytes / sizeof(float));
  };
  TROUPE_TRY(const auto* const copy, copy_of(parameter, wanted.get_size(), make));
  reordered_.push_back({parameter, wanted, values, copy});
  return copy;
}

Result<const ParameterCopy*> Lowering::copy_of(TensorId parameter, std::size_t bytes,
                                               ParameterCopy::Make make) {
  TROUPE_TRY(auto storage, device_.allocate(bytes, MemoryKind::workspace));
  copies.push_back(std::make_unique<ParameterCopy>(parameter, std::move(make), std::move(storage)));
  return copies.back().get();
}

/// Returns the layout of the library's weight gradient, so that it needs no reorder; forward uses
/// it too.
dnnl::memory::desc Lowering::choose_layout(TensorId parameter) const {
  const auto plain = plain_weights(graph[parameter].shape, DType::f32);
  const Node* forward = nullptr;
  const Node* gradient = nullptr;
  for (const auto& node : graph.nodes) {
    if (node.op == Op::conv2d && node.inputs[1] == parameter)
      forward = &node;
    if (node.op == Op::conv2d_backward_weight && graph[node.outputs[0]].of == parameter)
      gradient = &node;
  }
  const auto epilogue = forward ? epilogue_of(options.memory, *forward) : Epilogue{};
  if (!forward || (is_pointwise(*forward) && !epilogue.bias))
    return plain;
  auto problem = convolution_problem(graph, *forward, Direction::forward);
  const bool on_panels = !epilogue.bias && suits_panels(problem);
  problem.activations = compute_type(problem.activations);
  if (suits_winograd(problem) || may_be_winograd_bf16(problem, epilogue))
    return winograd_weights(problem);
  if (on_panels)
    return tap_weights(graph[parameter].shape);
  const auto primitive = gradient ? convolution_backward_weights(library, problem, nullptr)
                                  : convolution_forward(library, problem, nullptr, epilogue);
  if (!primitive)
    return plain;
  const auto& liked = primitive->description(gradient ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS);
  return is_f32(liked) ? liked : plain;
}

void Lowering::store_parameters() {
  layout = lay_out_storage(graph, slot_alignment, [this](TensorId id, Slot& slot) {
    if (slot.shape.rank() != 2 && slot.shape.rank() != 4)
      return;
    const auto liked = choose_layout(id);
    if (liked != plain_weights(slot.shape, DType::f32)) {
      slot.codec = std::make_shared<BlockedCodec>(library, slot.shape, liked);
      slot.elements = liked.get_size() / sizeof(float);
    }
    stored_.emplace(id, liked);
  });
}

Status Lowering::take_layout(const StorageLayout& given) {
  layout = given;
  for (const auto& slot : layout.parameters) {
    const auto id = graph.find(slot.name);
    if (!id || (slot.shape.rank() != 2 && slot.shape.rank() != 4))
      continue;
    const auto* const blocked = dynamic_cast<const BlockedCodec*>(slot.codec.get());
    if (slot.codec && !blocked)
      return fail(Errc::unsupported, "{} is stored in the layout of another device", slot.name);
    stored_.emplace(*id, blocked ? blocked->description() : plain_weights(slot.shape, DType::f32));
  }
  return {};
}

} // namespace troupe::cpu
