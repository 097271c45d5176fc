#include "training/state/state_base.hpp"

#include "core/fail.hpp"

namespace troupe::training {

Status StateBase::add(Device& device, void* live, std::size_t bytes, MemoryKind kind) {
  if (bytes == 0)
    return {};
  TROUPE_TRY(auto kept, device.allocate(bytes, kind));
  parts_.push_back({live, std::move(kept), bytes});
  return {};
}

void StateBase::keep(Device& device, Stream& stream) const {
  for (const auto& part : parts_)
    device.keep(stream, part.kept->data(), part.live, part.bytes);
}

void StateBase::restore(Device& device, Stream& stream) const {
  for (const auto& part : parts_)
    device.copy(stream, part.live, part.kept->data(), part.bytes);
}

} // namespace troupe::training
