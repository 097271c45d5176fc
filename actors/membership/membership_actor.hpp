/// MEMBERSHIP: the actor of a Membership.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/membership/failure_detector.hpp"
#include "actors/membership/membership.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe::actors {

struct MembershipSetup {
  MembershipRules rules;
  std::function<void(const std::string&)> say; ///< logs, for example, the missing nodes
  consensus_actor consensus = {}; ///< CONSENSUS of this node; null: there are no other voters
};

/// Maps the handles of nodes to ids and pending answers to numbers, carries out the actions of
/// Membership, and wakes it.
class MembershipState {
public:
  static inline const char* name = "membership";

  MembershipState(membership_actor::pointer self, MembershipSetup setup);
  membership_actor::behavior_type make_behavior();

private:
  template <class Answer>
  using Promises = std::map<RequestId, caf::typed_response_promise<Answer>>;

  template <class Event>
  void on(Event event);
  template <class Answer, class Event>
  caf::typed_response_promise<Answer> request(Promises<Answer>& pending, Event event);
  caf::result<training::NodeAssignment> join(const NodeInfo& info, const member_actor& node);
  caf::result<void> stop(const member_actor& node, StopReason reason);
  void lead(const coordinator_actor& coordinator);
  caf::result<coordinator_actor> leader();
  void lose(const caf::down_msg& down);
  NodeId id_of(const caf::actor_addr& node) const;
  NodeId id_of(const member_actor& node) const;
  member_actor handle_of(NodeId node) const;
  void forget_unknown();
  template <class... Message>
  void send(NodeId node, Message&&... message);
  void plan_wake();
  void carry_out(Action& action);
  void ask_for_links(const action::Probe& probe);
  void propose(const training::GenerationRecord& record);
  void finish(const action::Finish& finish);
  void halt_coordinator(const action::HaltCoordinator& halt);

  membership_actor::pointer self_;
  MembershipSetup setup_;
  FailureDetector lost_;
  Membership membership_;
  std::map<NodeId, member_actor> nodes_;          ///< that Membership knows
  std::int64_t last_node_ = 0, last_request_ = 0; ///< numbers
  Promises<training::NodeAssignment> joins_;
  Promises<void> requests_;
  coordinator_actor coordinator_;
  std::vector<caf::typed_response_promise<coordinator_actor>> followers_; ///< wait for COORDINATOR
  std::optional<Time> wakes_at_;
};

} // namespace troupe::actors
