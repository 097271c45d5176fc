#include "core/device/device.hpp"

namespace troupe {

std::string_view to_string(MemoryKind kind) {
  constexpr std::array<std::string_view, memory_kinds> names = {
      "parameters", "gradients", "optimizer",     "activations",
      "workspace",  "data",      "communication", "pinned"};
  return names[static_cast<std::size_t>(kind)];
}

} // namespace troupe
