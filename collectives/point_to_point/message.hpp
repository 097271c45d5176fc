/// A message from one rank to another.
#pragma once

#include "core/device/device.hpp"

#include <array>
#include <cstdint>
#include <memory>

namespace troupe::collectives {

struct Message {
  std::int32_t from = 0, to = 0; ///< ranks
  std::array<std::int64_t, 6> header =
      {};                     ///< the content's description, defined by sender and receiver
  BufferPtr values = nullptr; ///< in host-readable memory; null: no values
  std::size_t bytes = 0;      ///< of the values
};
using MessagePtr = std::shared_ptr<const Message>;

} // namespace troupe::collectives
