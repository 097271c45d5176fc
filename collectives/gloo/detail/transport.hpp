/// Connections between all ranks of a group over TCP, by the library Gloo.
#pragma once

#include "../store.hpp"
#include "flow.hpp"

#include "troupe/collectives/call.hpp"

#include <memory>
#include <optional>

namespace gloo {
namespace rendezvous {
class Context;
}
namespace transport {
class UnboundBuffer;
}
} // namespace gloo

namespace troupe::collectives {

struct GlooOptions {
  int rank = 0, world_size = 1;
  std::string group;                                ///< differs for every group that uses a store
  std::string address = "127.0.0.1";                ///< of this host, as the other ranks reach it
  std::chrono::milliseconds timeout{30000};         ///< without a message from a peer, or to it
  std::chrono::milliseconds connect_timeout{60000}; ///< for all ranks to come together
};

/// Once one rank has failed, it closes its connections, and so the others fail too.
class Transport {
public:
  /// Blocks until all ranks are connected. Errors: network.
  static Result<std::shared_ptr<Transport>> connect(const GlooOptions& options,
                                                    KeyValueStore& store);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  Place place() const { return {options_.rank, options_.world_size}; }
  /// Blocks until the flow is done, one flow at a time. `memory` is what its pieces lie in. Flows
  /// meet by `slot`: those that are not the same part of the same call must not have the same.
  Status run(const Flow& flow, std::byte* memory, DType type, std::uint64_t slot);
  /// May be called from any thread.
  void abort(const Error& reason);

private:
  class Run;

  explicit Transport(const GlooOptions& options);
  Status aborted() const;

  GlooOptions options_;
  std::unique_ptr<gloo::rendezvous::Context> context_;
  std::mutex running_;
  std::unique_ptr<std::byte[]> scratch_; ///< what is received before it is added
  mutable std::mutex mutex_;
  std::optional<Error> aborted_;
  std::vector<gloo::transport::UnboundBuffer*> waiting_; ///< of the flow that runs
};

} // namespace troupe::collectives
