/// Values on their way from one rank to another.
#pragma once

#include "core/device/device.hpp"

#include <array>
#include <cstdint>
#include <memory>

namespace troupe::collectives {

struct Message {
  std::int32_t from = 0, to = 0;           ///< ranks
  std::array<std::int64_t, 6> header = {}; ///< what it is, as both sides understand it
  BufferPtr values = nullptr;              ///< that the host can read; null: there are none
  std::size_t bytes = 0;                   ///< of them
};
using MessagePtr = std::shared_ptr<const Message>;

} // namespace troupe::collectives
