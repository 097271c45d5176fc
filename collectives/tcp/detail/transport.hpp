/// Transfers between the ranks of a group over TCP. Two ranks that exchange values have a
/// connection in each direction, opened on first use.
#pragma once

#include "collectives/call.hpp"
#include "collectives/tcp/data_plane.hpp"
#include "collectives/tcp/detail/flow.hpp"

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace troupe::collectives {

struct TcpOptions {
  int rank = 0;
  std::vector<Endpoint> endpoints;          ///< of each rank's process
  std::string group;                        ///< unique in its connection group
  std::chrono::milliseconds timeout{30000}; ///< longest wait without a byte to or from a peer
  std::chrono::milliseconds connect_timeout{60000}; ///< for all ranks to connect

  int world_size() const { return static_cast<int>(endpoints.size()); }
};

/// Memory of a flow's chunks; both pointers may be equal.
struct FlowMemory {
  std::byte *first = nullptr, *received = nullptr;
};

/// If a rank fails, it closes its connections, so that the others fail too.
class Transport {
public:
  Transport(TcpOptions options, std::shared_ptr<ConnectionGroup> connection_group);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  Place place() const { return {options_.rank, options_.world_size()}; }
  /// Blocks until the flow is done; one flow runs at a time. Both ends of a flow must use the same
  /// `slot`: a flow of another call, or of another part of the call, has another slot and is
  /// refused.
  Status run(const Flow& flow, const FlowMemory& memory, DType type, std::uint64_t slot);
  /// Waits this long for a peer from now on.
  void set_timeout(std::chrono::milliseconds timeout) { options_.timeout = timeout; }
  /// Thread-safe.
  void abort(const Error& reason);

private:
  class Run;
  using Links = std::map<int, net::Connection>; ///< by rank

  Status aborted() const;
  Result<net::Connection*> sending_to(int rank);
  Result<net::Connection*> receiving_from(int rank);
  Result<net::Connection*> add(Links& links, int rank, Result<net::Connection> link);

  TcpOptions options_;
  std::shared_ptr<ConnectionGroup> connection_group_;
  std::mutex running_;
  std::unique_ptr<std::byte[]> scratch_; ///< a received chunk before it is added
  net::Wakeup aborting_;
  std::stop_source stop_;
  mutable std::mutex mutex_; ///< guards the following; only a run adds links
  std::optional<Error> aborted_;
  Links sending_, receiving_;
};

} // namespace troupe::collectives
