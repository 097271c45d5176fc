#include "step.hpp"

namespace troupe::cpu {

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
  case Place::Kind::input:
    return bytes(binding_.batch.images);
  case Place::Kind::target:
    return bytes(binding_.batch.labels);
  }
  return nullptr;
}

} // namespace troupe::cpu
