/// NODE: spawns and supervises the roles of its host, and receives messages from other processes.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/membership/failure_detector.hpp"
#include "actors/node/built_generation.hpp"
#include "actors/node/waits.hpp"
#include "collectives/data_plane/data_plane.hpp"
#include "core/config/cluster.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::actors {

struct NodeSetup {
  std::string run;                    ///< name of the run
  std::vector<std::string> join = {}; ///< cluster.join
  TimeoutsConfig timeouts = {};       ///< cluster.timeouts
  std::shared_ptr<Waits> waits = std::make_shared<Waits>();
  std::function<void(const std::string&)> say = [](const auto&) {}; ///< logs for a person
  bool ends_for_all = false;     ///< a launcher started it with the others, and asks all to end
  std::function<void()> stopped; ///< called when the node is asked to stop
  /// Connects ranks to those of other nodes; null: a single node.
  std::shared_ptr<collectives::DataPlane> data_plane = nullptr;
  metrics::Track row = {}; ///< of the actor in the timeline
};

/// Runs generations: form (GENERATION BUILDER), train, and then either halt, which leads to the
/// next generation, or ended, which ends the job (conclude). The leader spawns COORDINATOR.
/// MEMBERSHIP tells the other nodes of COORDINATOR and of both ends. Without MEMBERSHIP (`troupe
/// train`) there is a single node. When MEMBERSHIP is lost the generation is over too, and
/// CONSENSUS knows where the next one gathers.
class NodeState {
public:
  static inline const char* name = "node";

  NodeState(node_actor::pointer self, NodeSetup setup)
      : self_{self}, setup_{std::move(setup)}, lost_{self, setup_.timeouts.detection} {}
  node_actor::behavior_type make_behavior();

private:
  using Promise = caf::typed_response_promise<RunOutcomePtr>;
  /// An actor that this node watches.
  struct Role {
    caf::actor actor;
    std::string_view name;
    int rank = -1; ///< below 0: of the node, not of one of its ranks
  };

  caf::result<membership_actor, std::string> membership() const;
  caf::result<std::string, bool> begins(const std::string& requester) const;
  caf::result<training::Voter, peer_actor> add_peer(const training::Voter& who,
                                                    const peer_actor& peer);
  caf::result<training::NodeAssignment> take_part(const membership_actor& membership,
                                                  std::string leader, const NodeInfo& info);
  void take_assignment(const training::NodeAssignment& assignment);
  bool waits_for_assignment(std::int64_t request) const;
  void look_after(std::int64_t request);
  void say_why_spare();
  void note_wait(const WaitStatus& told);
  void give_up_assignment(std::int64_t request);
  caf::result<std::vector<BrokenLink>> probe(const ProbeOrder& order);
  void note_left_out(const std::string& why);
  void learn(const training::GenerationRecord& record);
  caf::result<training::GenerationRecord> last_record() const;
  void cancel_connecting(std::int64_t generation, const Error& error);
  void halt(std::int64_t generation, const Error& reason);
  bool is_halted(std::int64_t generation) const { return generation > 0 && halted_ >= generation; }
  void let_go(const Error& reason);
  void end_generation();
  void release_roles();
  void form_next();
  caf::result<RunOutcomePtr> run(const generation_builder_actor& builder);
  void build();
  void not_built(Error error);
  void train(const BuiltGenerationPtr& built);
  void lead();
  void follow();
  generator_actor spawn_generator(const std::shared_ptr<training::RankState>& rank_state);
  checkpointer_actor spawn_checkpointer(const std::shared_ptr<training::RankState>& rank_state);
  double peak_of(const training::RankState& rank_state);
  checkpointer_actor checkpointer_of(const std::shared_ptr<training::RankState>& rank_state);
  void spawn_workers();
  shard_manager_actor spawn_shard_manager(const std::shared_ptr<training::RankState>& rank_state,
                                          Pass first, const metrics::Track& compute);
  void spawn_rank(const std::shared_ptr<training::RankState>& rank_state,
                  const data_loader_actor& loader);
  template <class State, class Handle, caf::spawn_options Options = caf::no_spawn_options,
            class Setup>
  Handle spawn_role(std::string_view group, Setup setup, int rank = -1);
  void leave();
  void watch(const caf::actor& actor, std::string_view role, int rank = -1);
  void down(const caf::down_msg& down);
  Error died(std::string_view role, const caf::error& reason, int rank = -1) const;
  void ended(const RunOutcomePtr& outcome);
  void finish(const JobEnd& end);
  void refuse_assignment();
  Error why_ended() const;
  void tell_outcome(const JobEnd& end);
  void lost_leader(const caf::error& reason);
  void lost_leader(const Error& error);
  void follow_to(const std::string& address);
  bool may_be_succeeded() const;
  void lost_coordinator(const Error& error);
  void stop();
  void stop_job();
  void repeat_request();
  void leave_next();
  void leave_vote(const std::function<void()>& then);
  caf::result<void> leave_others();
  void ask_to_leave(bool waits, std::function<void()> left,
                    std::function<void(const caf::error&)> refused);
  void leave_to_others();
  void end();
  caf::result<JobStatus> status();
  JobStatus status_of_end() const;
  JobStatus status_of_wait(WaitStatus wait) const;
  void ask_membership(caf::typed_response_promise<JobStatus> promise);
  void ask_consensus(caf::typed_response_promise<JobStatus> promise);
  WaitStatus shown_wait() const { return setup_.waits->shown(self_->clock().now()); }
  void conclude(const RunOutcomePtr& outcome);
  void abort_ranks(const Error& reason, const std::function<void()>& then);
  void release(const RunOutcomePtr& outcome);
  void end_ranks();
  void when_ended(std::function<void()> then);
  void end_all();
  const training::Generation& generation() const { return *built_->generation; }

  node_actor::pointer self_;
  NodeSetup setup_;
  FailureDetector lost_;
  training::Voter identity_;
  consensus_actor consensus_; ///< null: a single node
  membership_actor membership_;
  std::string leader_; ///< address of the leader
  caf::typed_response_promise<training::NodeAssignment> assignment_;
  std::int64_t assignment_requests_ = 0;      ///< number of join requests; only the last one counts
  std::optional<Waits::Row> assignment_wait_; ///< set while it waits for an assignment
  std::string said_spare_;                    ///< last logged reason why it is a spare
  generation_builder_actor builder_;
  BuiltGenerationPtr built_;            ///< the generation that trains
  checkpointer_actor checkpointer_;     ///< of rank 0, on the leader
  generator_actor generator_;           ///< of rank 0, on the leader; null: no samples are written
  coordinator_actor coordinator_;       ///< stays after the end of the job, for its status
  std::vector<Role> roles_;             ///< all except GENERATION BUILDER
  std::vector<caf::actor_addr> ending_; ///< roles that were told to end, and have not ended yet
  std::function<void()> when_ended_;    ///< called when all have ended
  std::vector<shard_manager_actor> shard_managers_;
  Promise outcome_;
  RunOutcomePtr ended_;       ///< outcome of the job, on the leader
  std::optional<JobEnd> end_; ///< of a job that another node leads or that this one never joined
  bool stopping_ = false;     ///< was asked to stop the job
  bool leaving_ = false;      ///< was asked to leave the job
  caf::actor_addr asked_to_leave_;      ///< the last MEMBERSHIP that end() has asked
  bool hands_over_ = false;             ///< this node has led, and leaves the others
  std::optional<Error> hands_over_for_; ///< why this node failed; none: it was asked to leave
  std::string left_out_;                ///< why the others continue without it for a while
  std::int64_t attempts_ = 0;           ///< number of attempts to take part in a job
  std::int64_t assignment_of_ = 0;      ///< generation of the last assignment; 0: none
  std::int64_t known_ = 0;              ///< last generation in which it had an assignment
  std::int64_t told_ = 0;               ///< last generation of which it was told
  std::size_t voters_ = 0;              ///< of that generation
  std::int64_t halted_ = 0;             ///< last generation that is over
  RunTotalsPtr totals_;                 ///< of earlier generations, on the leader
  RunViewPtr view_;                     ///< of the last generation, for the next one
};

} // namespace troupe::actors
