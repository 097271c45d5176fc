/// MEMBERSHIP: who takes part in a job. It outlives the job's COORDINATOR, which leads one
/// generation from its first step to its last.
#pragma once

#include "../interfaces.hpp"
#include "lost_nodes.hpp"
#include "roster.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::actors {

struct MembershipSetup {
  std::int32_t min_nodes = 1, max_nodes = 1;
  std::chrono::milliseconds quorum;            ///< for min_nodes to come together
  std::chrono::milliseconds detection;         ///< without a sign of life, a node is dead
  std::int64_t checkpoint_bytes = 0;           ///< that travel to nodes before the job begins
  engine::SharedFolder shared = {};            ///< where all nodes write checkpoints, if they do
  std::function<void(const std::string&)> say; ///< tells a person who is missing
};

///   gathering --(min_nodes are there)--> formed --(lead)--> led --> ended
///       a node that goes is forgotten;    a node that goes ends the job
class MembershipState {
public:
  static inline const char* name = "membership";

  MembershipState(membership_actor::pointer self, MembershipSetup setup);
  membership_actor::behavior_type make_behavior();

private:
  struct Member {
    std::string address;
    member_actor node;
    caf::typed_response_promise<engine::Seat> seat;
    bool gone = false;
    std::function<void()> when_gone = {}; ///< called when it goes: no answer will come
  };

  caf::result<engine::Seat> admit(const NodeInfo& info, const member_actor& node);
  void form();
  void refuse_all(const Error& error);
  void member_down(const caf::down_msg& down);
  Error refusal(const NodeInfo& info) const;
  void break_off(const Error& error);
  void tell_ranks(const Error& error);
  void lead(const coordinator_actor& coordinator);
  caf::result<coordinator_actor> leader();
  caf::result<void> fail(const Error& error);
  void tell_end(const JobEnd& end, const std::function<void()>& told);
  caf::result<void> finish(const JobEnd& end);
  void stop();
  std::string status() const;

  membership_actor::pointer self_;
  MembershipSetup setup_;
  LostNodes lost_;
  Roster roster_;
  std::vector<Member> members_; ///< in the order of their ranks, once formed
  std::optional<engine::GenerationRecord> generation_;
  coordinator_actor coordinator_;
  std::vector<caf::typed_response_promise<coordinator_actor>> followers_; ///< wait for it
  std::ptrdiff_t fetched_ = 1;     ///< nodes that have the checkpoint
  std::optional<Error> closed_;    ///< why nobody is admitted any more
  std::optional<Error> unstarted_; ///< why the ranks will not all be connected
  bool stopping_ = false, ended_ = false;
};

} // namespace troupe::actors
