#include "training/state/host_shard.hpp"

#include "core/fail.hpp"

namespace troupe::training {

namespace {

// In fp32 elements: 64 bytes, for aligned vector instructions.
constexpr std::size_t alignment = 16;
constexpr std::size_t loss_scale_place = alignment;
constexpr std::size_t control_elements = 2 * alignment;
static_assert(sizeof(LossScaleState) <= alignment * sizeof(float));

std::size_t array_elements(std::size_t elements) {
  return (elements + alignment - 1) / alignment * alignment;
}

} // namespace

std::size_t HostShard::bytes(std::size_t elements, std::size_t slots) {
  return sizeof(float) * (control_elements + (2 + slots) * array_elements(elements));
}

Result<HostShard> HostShard::allocate(Device& device, const Range& range, std::size_t slots) {
  TROUPE_TRY(auto buffer, device.allocate(bytes(range.elements(), slots), MemoryKind::pinned));
  return HostShard{std::move(buffer), range, slots};
}

float* HostShard::array(std::size_t index) const {
  return buffer_->floats() + control_elements + index * array_elements(range_.elements());
}

OptimizerViews HostShard::views(const Range& range) const {
  const auto at = range.first - range_.first;
  return {.parameters = parameters() + at,
          .gradients = gradients() + at,
          .state0 = slots_ > 0 ? state(0) + at : nullptr,
          .state1 = slots_ > 1 ? state(1) + at : nullptr,
          .elements = range.elements()};
}

LossScaleState* HostShard::loss_scale() const {
  return reinterpret_cast<LossScaleState*>(buffer_->floats() + loss_scale_place);
}

} // namespace troupe::training
