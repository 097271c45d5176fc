#include "core/device/placement.hpp"

#include "core/fail.hpp"

#include <string_view>
#include <unordered_map>

namespace troupe {

namespace {

class Placer {
public:
  Placer(const Graph& graph, const MemoryPlan& plan, const StorageLayout& layout,
         std::size_t alignment)
      : graph_{graph}, plan_{plan}, alignment_{alignment} {
    for (const auto* slots : {&layout.parameters, &layout.statistics})
      for (const auto& slot : *slots)
        slots_.emplace(slot.name, &slot);
  }

  Result<Placement> run() && {
    if (!plan_.offsets.empty() && plan_.offsets.size() != graph_.tensors.size())
      return fail(Errc::internal, "the memory plan belongs to another graph");
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      TROUPE_TRY(auto place, place_of(i));
      placement_.places.push_back(place);
    }
    return std::move(placement_);
  }

private:
  Result<Place> place_of(std::size_t i) {
    const auto& tensor = graph_.tensors[i];
    switch (tensor.role) {
    case Role::parameter:
      return in_slot(Place::Kind::parameter, tensor);
    case Role::gradient:
      return in_slot(Place::Kind::gradient, graph_[tensor.of]);
    case Role::statistic:
      return in_slot(Place::Kind::statistic, tensor);
    case Role::input:
    case Role::target:
      return Place{Place::Kind::batch, batched_++};
    case Role::loss_scale:
      return Place{Place::Kind::loss_scale, 0};
    case Role::activation:
    case Role::output:
      break;
    }
    if (i < plan_.offsets.size() && plan_.offsets[i] != MemoryPlan::not_in_arena)
      return Place{Place::Kind::arena, plan_.offsets[i]};
    return own_place(tensor);
  }

  Result<Place> in_slot(Place::Kind kind, const Tensor& tensor) const {
    const auto found = slots_.find(tensor.name);
    if (found == slots_.end() || found->second->shape != tensor.shape ||
        found->second->unit != tensor.unit)
      return fail(Errc::internal, "{} has no place in the given storage", tensor.name);
    return Place{kind, found->second->offset * sizeof(float)};
  }

  Place own_place(const Tensor& tensor) {
    const Place place{Place::Kind::own, placement_.own_bytes};
    const auto bytes = static_cast<std::size_t>(tensor.shape.elements()) * size_of(tensor.dtype);
    placement_.own_bytes += (bytes + alignment_ - 1) / alignment_ * alignment_;
    return place;
  }

  const Graph& graph_;
  const MemoryPlan& plan_;
  std::size_t alignment_;
  std::unordered_map<std::string_view, const Slot*> slots_;
  std::size_t batched_ = 0; ///< inputs and targets so far
  Placement placement_;
};

} // namespace

Result<Placement> place_tensors(const Graph& graph, const MemoryPlan& plan,
                                const StorageLayout& layout, std::size_t alignment) {
  return Placer{graph, plan, layout, alignment}.run();
}

std::byte* Frame::address(const Place& place) const {
  const auto bytes = [](const void* data) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(data));
  };
  switch (place.kind) {
  case Place::Kind::arena:
    return memory_.arena + place.offset;
  case Place::Kind::own:
    return memory_.own + place.offset;
  case Place::Kind::parameter:
    return bytes(binding_.parameters) + place.offset;
  case Place::Kind::gradient:
    return bytes(binding_.gradients) + place.offset;
  case Place::Kind::statistic:
    return bytes(binding_.statistics) + place.offset;
  case Place::Kind::batch:
    return bytes(binding_.batch[place.offset]);
  case Place::Kind::loss_scale:
    return bytes(binding_.loss_scale);
  }
  return nullptr;
}

bool only_renames(const Node& node, const std::vector<Place>& places) {
  if (node.op != Op::flatten && node.op != Op::unflatten && node.op != Op::share)
    return false;
  const auto& from = places[static_cast<std::size_t>(node.inputs[0])];
  const auto& to = places[static_cast<std::size_t>(node.outputs[0])];
  return from.kind == to.kind && from.offset == to.offset;
}

} // namespace troupe
