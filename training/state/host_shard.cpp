#include "training/state/host_shard.hpp"

#include "core/fail.hpp"
#include "training/state/state_plan.hpp"

namespace troupe::training {

namespace {

// The arrays in memory: parameters, gradients, then the optimizer's slots.
constexpr std::size_t parameters_index = 0, gradients_index = 1, first_slot_index = 2;

std::size_t array_elements(std::size_t elements) {
  constexpr std::size_t alignment = 16; // 64 bytes, for aligned vector instructions
  return (elements + alignment - 1) / alignment * alignment;
}

} // namespace

std::size_t HostShard::bytes(std::size_t elements, std::size_t slots) {
  return sizeof(Scalars) + sizeof(float) * (first_slot_index + slots) * array_elements(elements);
}

Result<HostShard> HostShard::allocate(Device& device, const FlatRange& range, std::size_t slots) {
  TROUPE_TRY(auto buffer, device.allocate(bytes(range.elements, slots), MemoryKind::pinned));
  return HostShard{std::move(buffer), range, slots};
}

float* HostShard::in_array(std::size_t index, std::size_t element) const {
  auto* const arrays = reinterpret_cast<float*>(&scalars() + 1);
  return arrays + index * array_elements(range_.elements) + (element - range_.first);
}

float* HostShard::at(std::size_t array, std::size_t element) const {
  return in_array(array == parameters_array ? parameters_index
                                            : first_slot_index + (array - first_optimizer_array),
                  element);
}

HostChunk HostShard::chunk(const FlatRange& range) const {
  const auto slot = [&](std::size_t number) {
    return number < slots_ ? in_array(first_slot_index + number, range.first) : nullptr;
  };
  float* const fetched = in_array(gradients_index, range.first);
  return {.host = {.parameters = in_array(parameters_index, range.first),
                   .gradients = fetched,
                   .state0 = slot(0),
                   .state1 = slot(1),
                   .elements = range.elements},
          .fetched = fetched};
}

} // namespace troupe::training
