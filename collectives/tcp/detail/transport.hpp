/// Transfers between the ranks of a group over TCP.
#pragma once

#include "collectives/call.hpp"
#include "collectives/data_plane/channel.hpp"
#include "collectives/tcp/detail/flow.hpp"

#include <memory>
#include <mutex>

namespace troupe::collectives {

/// Memory of a flow's chunks; both pointers may be equal.
struct FlowMemory {
  std::byte *first = nullptr, *received = nullptr;
};

class Transport {
public:
  Transport(ChannelOptions options, std::shared_ptr<ConnectionGroup> connection_group);

  Channel& channel() { return channel_; }
  Place place() const { return {channel_.options().member, channel_.options().size()}; }
  /// Blocks until the flow is done; one flow runs at a time. Both ends of a flow must use the same
  /// `slot`: a flow of another call, or of another part of the call, has another slot and is
  /// refused. An error aborts the channel.
  Status run(const Flow& flow, const FlowMemory& memory, DType type, std::uint64_t slot);

private:
  class Run;

  Channel channel_;
  std::mutex running_;
  std::unique_ptr<std::byte[]> scratch_; ///< a received chunk before it is added
};

} // namespace troupe::collectives
