/// NODE: spawns and supervises the roles of its host, and receives messages from other processes.
#pragma once

#include "actors/membership/failure_detector.hpp"
#include "actors/node/assignment_request.hpp"
#include "actors/node/local_roles.hpp"
#include "actors/node/node_phase.hpp"
#include "actors/node/node_work.hpp"
#include "actors/node/stop_requests.hpp"

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe::actors {

/// Runs generations: build (NodeWork), train, and then either halt, which leads to the next
/// generation, or stop, which ends the job. node_phase.hpp has all phases. The
/// leader spawns COORDINATOR. MEMBERSHIP tells the other nodes of COORDINATOR and of both ends.
/// Without MEMBERSHIP (`troupe train`) there is a single node. When MEMBERSHIP is lost the
/// generation is over too, and CONSENSUS knows where the next one gathers.
class NodeState {
public:
  static inline const char* name = "node";

  NodeState(node_actor::pointer self, NodeSetup setup)
      : node_{self, std::move(setup)}, lost_{self, node_.setup.timeouts.detection} {}
  node_actor::behavior_type make_behavior();

private:
  void enter(NodeEvent event) { phase_ = after(phase_, event); }
  bool has_ended() const { return phase_ >= NodePhase::draining; }
  /// The generation that trains or is built; 0: none, or of a single node.
  std::int64_t number() const { return roles_ ? roles_.number() : assignment_of_; }
  bool trains(std::int64_t generation) const {
    return phase_ == NodePhase::training && number() == generation;
  }

  caf::result<membership_actor, std::string> membership() const;
  using View =
      caf::typed_response_promise<training::Voter, std::string, bool, training::GenerationRecord>;
  View view_for(const std::string& requester) const;
  std::string who_begins(const std::string& requester) const;
  caf::result<training::NodeAssignment> take_part(const membership_actor& membership,
                                                  std::string leader, const NodeInfo& info);
  void take_assignment(const training::NodeAssignment& assignment);
  void leave();
  caf::result<std::vector<BrokenLink>> probe(const ProbeOrder& order);
  void learn(const training::GenerationRecord& record);
  void cancel_connecting(std::int64_t generation, const Error& error);
  void halt(std::int64_t generation, const Error& reason);
  void note_halted();
  void let_go(const Error& reason);
  void end_generation();
  void release_roles();
  void form_next(RunViewPtr view);
  caf::result<RunOutcomePtr> run(const NodeWorkPtr& work);
  using Task = std::function<FollowUp(NodeWork&)>;
  void do_blocking(Task task);
  void begin_task();
  void build();
  void give_up(Error error);
  void train(const BuiltGenerationPtr& built);
  void lead();
  void follow();
  void down(const caf::down_msg& down);
  void lost_leader(const caf::error& reason);
  void lost_leader(const Error& error);
  void follow_to(const std::string& address);
  caf::result<void> stop(StopReason reason, const JobEnd& end = {});
  void end_job(StopReason reason, const JobEnd& end);
  void note_end(const JobEnd& end);
  Error why_ended() const;
  void conclude(const JobEnd& end);
  void leave_vote(const std::function<void()>& then);
  void release(const RunOutcomePtr& outcome);
  void deliver(const RunOutcomePtr& outcome);
  void end_all();
  caf::result<JobStatus> status();
  void ask_membership(caf::typed_response_promise<JobStatus> promise);
  void ask_consensus(caf::typed_response_promise<JobStatus> promise);

  NodeContext node_;
  NodePhase phase_ = NodePhase::joining;
  FailureDetector lost_;
  AssignmentRequest request_{node_, [this](const auto& assignment) { take_assignment(assignment); },
                             [this](const Error& error) { lost_leader(error); }};
  StopRequests stops_{node_};
  LocalRoles roles_{node_};
  NodeWorkPtr work_;
  std::deque<Task> tasks_; ///< parts of the blocking work; the first one runs, and is empty
  caf::typed_response_promise<RunOutcomePtr> outcome_;
  RunOutcomePtr ended_;       ///< outcome of the job, on the leader
  std::optional<JobEnd> end_; ///< of a job that another node leads or that this one never joined
  std::string left_out_;      ///< why the others continue without it for a while
  std::int64_t assignment_of_ = 0; ///< generation of the last assignment; 0: none
  std::int64_t known_ = 0;         ///< last generation in which it had an assignment
  std::int64_t told_ = 0;          ///< last generation of which it was told
  std::size_t voters_ = 0;         ///< of that generation
  std::int64_t halted_ = 0;        ///< last generation that is over
  RunTotalsPtr totals_;            ///< of earlier generations, on the leader
};

} // namespace troupe::actors
