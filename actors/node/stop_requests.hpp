/// The requests of people to stop a node or its job, until MEMBERSHIP has granted them.
#pragma once

#include "actors/node/node_context.hpp"

#include <functional>

namespace troupe::actors {

class StopRequests {
public:
  explicit StopRequests(NodeContext& node) : node_{node} {}

  /// The answer of StopReason::node is that of MEMBERSHIP.
  caf::result<void> stop(StopReason reason);
  /// Repeats a request that this node had when it lost its leader, because the next leader does not
  /// know of it.
  void repeat();
  /// Whether the whole job shall stop.
  bool stops_job() const { return stops_job_; }

private:
  void stop_job();
  void end();
  void leave_next();
  caf::result<void> leave();
  /// `answered`: called with the error of a refusal, or an empty one.
  void ask_to_leave(StopReason reason, const std::function<void(const caf::error&)>& answered);

  NodeContext& node_;
  bool stops_job_ = false, leaves_ = false;
  caf::actor_addr asked_; ///< the last MEMBERSHIP that end() has asked
};

} // namespace troupe::actors
