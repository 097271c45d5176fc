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
  BufferPtr values = nullptr; ///< allocated as message_memory(); null: no values
  std::size_t bytes = 0;      ///< of the values
};
using MessagePtr = std::shared_ptr<const Message>;

/// Returns the kind of memory for a message's values: readable by the host, which sends them from
/// there.
inline MemoryKind message_memory(const Device& device) {
  return device.info().on_host ? MemoryKind::communication : MemoryKind::pinned;
}

} // namespace troupe::collectives
