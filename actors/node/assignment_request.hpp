/// The wait of a node for its assignment in a job.
#pragma once

#include "actors/node/node_context.hpp"

#include <functional>
#include <optional>
#include <string>

namespace troupe::actors {

class AssignmentRequest {
public:
  /// `taken`: called with each assignment or refusal, before send() is answered. `lost`:
  /// called if MEMBERSHIP does not answer any more; must call refuse().
  AssignmentRequest(NodeContext& node, std::function<void(const training::NodeAssignment&)> taken,
                    std::function<void(const Error&)> lost)
      : node_{node}, taken_{std::move(taken)}, lost_{std::move(lost)} {}

  /// Joins the job of the node's MEMBERSHIP. Only the last request counts.
  caf::result<training::NodeAssignment> send(NodeInfo info);
  bool is_pending() const { return promise_.pending(); }
  /// Precondition: it is pending.
  void refuse(Error why) { deliver(training::NodeAssignment{.refused = std::move(why)}); }
  /// Logs why this node is a spare, once for each reason.
  void say_why_spare();
  /// Adds to MEMBERSHIP's answer since when a spare waits, which only this node knows.
  void complete(WaitStatus& told);

private:
  bool is_current(std::int64_t request) const { return request == requests_ && is_pending(); }
  void deliver(const training::NodeAssignment& assignment);
  void look_after(std::int64_t request);
  void note(const WaitStatus& told);
  void give_up(std::int64_t request);

  NodeContext& node_;
  std::function<void(const training::NodeAssignment&)> taken_;
  std::function<void(const Error&)> lost_;
  caf::typed_response_promise<training::NodeAssignment> promise_;
  std::int64_t requests_ = 0;      ///< number of join requests of this process
  std::optional<Waits::Row> wait_; ///< set while it is pending
  std::string said_spare_;         ///< last logged reason why it is a spare
};

} // namespace troupe::actors
