/// MEMBERSHIP: decides which nodes take part in a job. It outlives COORDINATOR, which leads one
/// generation from its first step to its last.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/membership/blame.hpp"
#include "actors/membership/failure_detector.hpp"
#include "actors/membership/member_list.hpp"
#include "actors/membership/recent.hpp"
#include "actors/membership/worker_groups.hpp"
#include "core/config/cluster.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe::actors {

struct MembershipSetup {
  std::int32_t min_nodes = 1, max_nodes = 1;
  TimeoutsConfig timeouts = {};      ///< cluster.timeouts
  std::chrono::milliseconds probe{}; ///< for connecting to a node's data port
  /// The shortest time between two halts for nodes that were left out before.
  std::chrono::milliseconds between_returns = std::chrono::minutes{1};
  /// Returns the number of slices of a global batch for a job that begins with this many workers.
  std::function<std::int64_t(std::int64_t workers)> slices = [](auto workers) { return workers; };
  std::function<void(const std::string&)> say; ///< logs, for example, the missing nodes
  WorkerGroups groups = {};                    ///< workers train in whole groups
  consensus_actor consensus = {}; ///< CONSENSUS of this node; null: there are no other voters
  /// If this node succeeds a leader: its last generation, and why the leader was lost (stopped: it
  /// left).
  std::optional<training::GenerationRecord> before = {};
  Error lost = {};
  /// Nodes leave one at a time, and none while a lost node is replaced: the only copy of a leaving
  /// node's part of the state is on one other node.
  bool leave_one_by_one = false;
  /// Explains why a part of a generation's state would be lost with its node; empty: all parts have
  /// copies.
  std::function<std::string(const training::GenerationRecord&)> lacks_copies = [](const auto&) {
    return std::string{};
  };
};

///   gathering --(all have joined, and min_nodes)--> deciding --(a quorum of voters)--> connecting
///       ^  a lost node is forgotten                                                    | (lead)
///       +------ a node is lost, or another joins: all halt, and join again -------- training -->
///       ended
///
/// A joining node is an entrant until the others have proven that they can work with it: its
/// version, config and training data are the job's, its data port and theirs can be reached, and it
/// stays connected for a while. No node halts for it before that.
///
/// After a failure between nodes (network, collective) all nodes join again, and then probe each
/// other's data ports before the next generation is built: the error itself does not show which
/// node is at fault (blame.hpp). Nodes that are left out for that may join again later.
///
/// Each round of gathering makes a generation. If min_nodes, or nodes that fill whole groups of
/// workers, do not join within the quorum timeout, the job does not begin; a job that has begun
/// saves its state and ends. A node that joins a full job is a spare, and gets the ranks of the
/// next node that is lost. A node whose workers fill no group is a spare until they do. When the
/// leader is to leave the others, MEMBERSHIP ends between two steps, and that of another node takes
/// over. Spares and witnesses that join or leave change the voters, without a halt.
class MembershipState {
public:
  static inline const char* name = "membership";

  MembershipState(membership_actor::pointer self, MembershipSetup setup);
  membership_actor::behavior_type make_behavior();

private:
  enum class Phase : std::uint8_t { gathering, deciding, connecting, training };
  struct Member {
    std::string address;
    member_actor node;
    std::optional<caf::typed_response_promise<training::NodeAssignment>>
        assignment;                       ///< pending answer to its join request
    std::function<void()> when_gone = {}; ///< called if the node is lost: it will not answer
    bool leaves = false;                  ///< was asked to leave, and does when all halt
    std::int64_t request = 0;             ///< number of its join request
    std::int64_t came = 0;                ///< greater: joined later
    bool returns = false;                 ///< was left out before
  };
  /// A failure between nodes, until it is decided which of them to leave out.
  struct Suspicion {
    Error error;
    std::vector<std::string> behind; ///< nodes that the others were waiting for
    std::int64_t probe = 0;          ///< number of the probe in progress; 0: none yet
  };
  /// The end of the job, while the voters decide it; `told` is called when all nodes know of it.
  struct EndingJob {
    JobEnd end;
    std::function<void()> told;
  };
  using Members = std::vector<Member>;
  /// A node that waits for an assignment.
  struct Spare {
    NodeInfo info;
    Member member;
    std::int64_t proof = 0; ///< number of its last proof
    bool is_proven = false; ///< of an entrant: its links work, and it waits until it is stable
    bool is_stable = false; ///< it stayed connected for `stable`; its links are tried again
  };
  using Spares = std::vector<Spare>;

  caf::result<training::NodeAssignment> admit(const NodeInfo& info, const member_actor& node);
  Status check(const NodeInfo& info, const member_actor& node, bool again) const;
  Status check_later(const NodeInfo& info) const;
  Status check_data(const NodeInfo& info) const;
  void enter(Spare node);
  void settle();
  bool is_from_ahead(const NodeInfo& info) const;
  void refuse_leader(const NodeInfo& info);
  void report_problem(const std::string& node, const std::string& problem);
  bool needs_proof(const NodeInfo& info) const;
  void prove_next();
  bool was_reached(const std::string& node, const std::string& port) const;
  void links_tried(const member_actor& node, std::vector<BrokenLink> broken);
  bool has_to_be_stable(const Spare& entrant) const;
  void stayed(const member_actor& node, std::int64_t proof);
  void admit_entrant(const member_actor& node);
  void admit_proven();
  void refuse_entrant(const member_actor& node, const Error& error);
  bool is_newcomer(const Member& member) const;
  bool confirms_newcomers();
  void confirm(const member_actor& node, std::int64_t round, bool answers);
  bool is_replay(const NodeInfo& info) const;
  training::NodeAssignment refusal_of(const NodeInfo& info, const Error& error) const;
  std::int64_t arrival_of(const std::string& address);
  std::string lacks_node(const std::vector<NodeInfo>& nodes) const;
  std::string lacks_room(const std::vector<NodeInfo>& nodes, std::int32_t workers) const;
  std::string lacks_place(std::int32_t workers, const Spares& beside) const;
  std::vector<NodeInfo> with_spares(std::vector<NodeInfo> nodes, const Spares& spares) const;
  std::vector<NodeInfo> candidates() const;
  std::set<std::string> choose() const;
  bool has_enough() const;
  std::string waiting_for() const;
  void regroup();
  std::string lacks_group() const;
  void make_spare(std::size_t place);
  void take_in(Spare node);
  void admit_successor(Spare node);
  void give_place(std::ptrdiff_t place, Spare node);
  void fill(std::ptrdiff_t place);
  static Spares::iterator find_spare(Spares& spares, const member_actor& node);
  void refuse_spares(const Error& error);
  caf::result<void> leave(const member_actor& node, bool waits);
  void let_leave();
  caf::result<void> leave_as_leader(bool waits);
  void keep_leader(const Error& reason);
  void check_leavers();
  Error ends_with_leader(const std::string& lacks) const;
  bool may_have_enough() const;
  std::size_t others_that_stay() const;
  std::string lacks_successor() const;
  void hand_over();
  Members::iterator find(std::string_view address);
  Members::iterator find(const member_actor& node);
  std::int64_t next_number() const;
  bool gathers_for(std::int64_t round) const;
  void gather();
  void await_again(std::int64_t round);
  void await_enough(std::int64_t round);
  void form_if_complete();
  void form();
  Result<training::GenerationRecord> next_record();
  std::vector<training::Voter> voters(const std::vector<training::MemberInfo>& nodes) const;
  std::vector<std::string> spare_addresses() const;
  bool may_revise() const;
  void revise();
  void settle_revision(bool is_decided);
  void tell_revision();
  void form_when_revised();
  void decide(const training::GenerationRecord& record);
  void decided();
  void not_decided(const Error& error);
  void await_decision(std::int64_t generation);
  void give_up_deciding();
  void assign_members();
  void inherit();
  void await_successors();
  void fill_after_leader();
  std::ptrdiff_t place_of(const std::string& address) const;
  void refuse_all(const Error& error);
  void halt(const Error& reason, bool is_loss, std::chrono::milliseconds detected_after = {});
  bool changes_wanted() const;
  bool waits_for_returns();
  bool forget_waiting(const caf::down_msg& down);
  void change_when_wanted();
  Error wanted_change() const;
  void member_down(const caf::down_msg& down);
  void lose(Members::iterator member, const Error& error);
  void forget(Members::iterator member);
  Error refusal(const NodeInfo& info) const;
  void tell_ranks(const Error& error);
  void lead(const coordinator_actor& coordinator);
  caf::result<coordinator_actor> leader();
  caf::result<void> fail(std::int64_t generation, const SharedFailure& failure);
  bool goes_on_after(const SharedFailure& failure);
  bool goes_on_without(const Error& error);
  bool ends_halted_job(const Error& error) const;
  caf::result<void> end_after(const Error& error);
  // membership_blame.cpp
  using Probed = std::function<void(const std::vector<BrokenLink>&)>;
  void suspect(const SharedFailure& failure);
  bool probes_links();
  void probe_members(const Probed& then);
  ProbeOrder probe_order(const std::string& ticket, const std::string& node) const;
  void links_probed(std::int64_t probe, const std::vector<BrokenLink>& broken);
  void watch_connecting();
  bool blame_links(const std::vector<BrokenLink>& broken);
  bool blame_behind(const Suspicion& suspicion);
  std::vector<BlameCandidate> blame_candidates() const;
  BlameCosts blame_costs() const;
  bool loses_state(const std::set<std::string>& without) const;
  bool loses_quorum(const std::set<std::string>& without) const;
  bool may_be_succeeded() const;
  void leave_out(const std::map<std::string, std::string>& evidence);
  void refuse_for_now(Member& member, const std::string& why);
  bool others_lack_state() const;
  bool hand_over_after(const Error& error);
  void dismiss(Members::iterator member, JobEnd end);
  void limit_wait(const NodeInfo& info, const member_actor& node);
  void refuse_late(const member_actor& node, std::int64_t request);
  void withdraw(const member_actor& node);
  void member_gone(Members::iterator gone, const std::string& why,
                   std::chrono::milliseconds detected_after);
  void end_job(const JobEnd& end, const std::function<void()>& told);
  void tell_decided_end();
  void tell_end(const JobEnd& end, const std::function<void()>& told);
  caf::result<void> finish(const JobEnd& end);
  void stop();
  WaitStatus status(const member_actor& node);
  bool has_begun() const { return generation_.has_value(); }

  membership_actor::pointer self_;
  MembershipSetup setup_;
  FailureDetector lost_;
  MemberList member_list_;
  Members members_;  ///< in the order of their ranks; the first leads
  Spares spares_;    ///< in the order in which they joined
  Spares witnesses_; ///< in the same order; they vote, and train nothing
  Spares entrants_;  ///< in the same order; not admitted yet
  std::int64_t proofs_ = 0;
  bool proving_ = false;                             ///< an entrant's links are being tried
  std::map<caf::actor_addr, bool> confirmed_;        ///< newcomers asked, and whether they answered
  Recent failed_proofs_;                             ///< by data port
  std::map<std::string, std::string> reached_ports_; ///< by node: port that all have reached
  Recent problems_reported_;                         ///< by node
  std::vector<caf::actor_addr> dismissed_;           ///< nodes that were dismissed
  std::map<std::string, std::int64_t> attempts_;     ///< last join request, by process
  std::map<std::string, member_actor> left_out_;     ///< nodes that may join again, by process
  std::optional<Suspicion> suspicion_;
  std::int64_t probes_ = 0, arrivals_ = 0;
  std::optional<caf::actor_clock::time_point> returned_; ///< time of the last halt for such nodes
  Phase phase_ = Phase::gathering;
  std::int64_t rounds_ = 0;                              ///< of gathering
  std::chrono::steady_clock::time_point gathering_;      ///< since when
  std::int64_t requests_ = 0;                            ///< to join
  std::optional<training::GenerationRecord> generation_; ///< the last one
  std::optional<training::GenerationRecord> proposed_;   ///< while voters decide it
  std::optional<training::GenerationRecord> revision_;   ///< of generation_, while voters decide it
  std::optional<EndingJob> ending_job_;                  ///< until its nodes know
  bool forms_next_ = false;                              ///< form() waits for the revision
  training::SharedFolder shared_;                        ///< of the last generation
  std::string writer_;           ///< GenerationRecord::writer, once there is a first record
  std::optional<Error> changed_; ///< what has changed since the proposal
  bool inherits_ = false;        ///< the nodes of a lost leader gather here
  coordinator_actor coordinator_;
  std::vector<caf::typed_response_promise<coordinator_actor>> followers_; ///< wait for COORDINATOR
  std::ptrdiff_t fetched_ = 0;                     ///< nodes that have received the state
  training::MembershipChange change_;              ///< why nodes join again
  std::chrono::steady_clock::time_point changing_; ///< since when
  std::optional<Error> closed_;                    ///< why no node is admitted any more
  std::optional<Error> unstarted_;                 ///< why the ranks will not all be connected
  std::optional<Error> ending_;                    ///< why the job is saved and ends
  std::vector<caf::typed_response_promise<void>>
      leavers_;          ///< the leader's pending requests to leave
  int unexplained_ = 0;  ///< failures between nodes since the last step for which none was blamed
  bool trained_ = false; ///< COORDINATOR existed, here or at an earlier leader
  bool stopping_ = false, ended_ = false;
};

} // namespace troupe::actors
