/// The actions that Membership asks its actor to carry out, in order.
#pragma once

#include "actors/cluster_messages.hpp"
#include "actors/membership/links.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::actors {

/// The NODE of a process. A restarted daemon is another one.
enum class NodeId : std::int64_t {};
/// A request that Membership answers exactly once, possibly later.
enum class RequestId : std::int64_t {};

/// A node and its data port.
struct LinkEnd {
  NodeId node;
  NodePort port;
};

namespace action {

/// Answers a join request.
struct Assign {
  RequestId request;
  training::NodeAssignment assignment;
};

/// Answers any other request.
struct Answer {
  RequestId request;
  std::optional<Error> refused = {};
};

// Messages to a node (member_actor).

struct Halt {
  NodeId node;
  std::int64_t generation;
  Error reason;
};

struct Abort {
  NodeId node;
  std::int64_t generation;
  Error error;
};

struct Learn {
  NodeId node;
  training::GenerationRecord record;
};

/// With `answers`, Membership::heard_end() follows: when the node has answered, or after the
/// detection timeout.
struct Finish {
  NodeId node;
  JobEnd end;
  bool answers = false;
};

/// Membership::probed() follows, after `limit` at the latest.
struct Probe {
  NodeId node;
  std::int64_t probe;
  ProbeOrder order;
  std::chrono::milliseconds limit;
};

// Messages to CONSENSUS.

/// Has the voters decide a record. Membership::decided() follows, unless they never decide.
struct Propose {
  training::GenerationRecord record;
};

/// Announces that nodes may gather here.
struct Announce {};

// Messages to COORDINATOR.

/// Membership::coordinator_halted() follows, unless the generation ends before.
struct HaltCoordinator {
  std::int64_t generation;
  bool saves;
};

struct StopCoordinator {
  Error reason = asked_to_stop();
};

/// Its generation has ended.
struct ForgetCoordinator {};

struct Say {
  std::string line;
};

/// Ends the actor. Another node leads from now on.
struct Quit {};

} // namespace action

using Action = std::variant<action::Assign, action::Answer, action::Halt, action::Abort,
                            action::Learn, action::Finish, action::Probe, action::Propose,
                            action::Announce, action::HaltCoordinator, action::StopCoordinator,
                            action::ForgetCoordinator, action::Say, action::Quit>;

/// Collects actions.
class Actions {
public:
  void add(Action action) { pending_.push_back(std::move(action)); }
  void say(std::string line) { add(action::Say{std::move(line)}); }
  /// Answers a pending request, if there is one.
  void assign(std::optional<RequestId>& request, training::NodeAssignment assignment) {
    if (request)
      add(action::Assign{*std::exchange(request, std::nullopt), std::move(assignment)});
  }
  void refuse(std::optional<RequestId>& request, Error why) {
    assign(request, {.refused = std::move(why)});
  }
  std::vector<Action> take() { return std::exchange(pending_, {}); }

private:
  std::vector<Action> pending_;
};

} // namespace troupe::actors
