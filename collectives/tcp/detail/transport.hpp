/// What the ranks of a group send each other over TCP: a connection in each direction to those that
/// a rank exchanges values with, made when it first does.
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
  std::vector<Endpoint> endpoints;                  ///< of the processes of all ranks of the group
  std::string group;                                ///< differs for every group of a meeting
  std::chrono::milliseconds timeout{30000};         ///< without a message from a peer, or to it
  std::chrono::milliseconds connect_timeout{60000}; ///< for all ranks to come together

  int world_size() const { return static_cast<int>(endpoints.size()); }
};

/// What the pieces of a flow lie in; may be one and the same.
struct FlowMemory {
  std::byte *first = nullptr, *received = nullptr;
};

/// Once one rank has failed, it closes its connections, and so the others fail too.
class Transport {
public:
  Transport(TcpOptions options, std::shared_ptr<ConnectionGroup> connection_group);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  Place place() const { return {options_.rank, options_.world_size()}; }
  /// Blocks until the flow is done, one flow at a time. Flows that meet must have the same `slot`:
  /// what is not the same part of the same call has another, and is refused.
  Status run(const Flow& flow, const FlowMemory& memory, DType type, std::uint64_t slot);
  /// From now on, waits so long for a peer.
  void set_timeout(std::chrono::milliseconds timeout) { options_.timeout = timeout; }
  /// May be called from any thread.
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
  std::unique_ptr<std::byte[]> scratch_; ///< a piece that is received before it is added
  net::Wakeup aborting_;
  std::stop_source stop_;
  mutable std::mutex mutex_; ///< of what follows; a run alone adds links
  std::optional<Error> aborted_;
  Links sending_, receiving_;
};

} // namespace troupe::collectives
