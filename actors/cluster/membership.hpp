/// MEMBERSHIP: who takes part in a job. It outlives the job's COORDINATOR, which leads one
/// generation from its first step to its last.
#pragma once

#include "../interfaces.hpp"
#include "lost_nodes.hpp"
#include "roster.hpp"
#include "worker_groups.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::actors {

struct MembershipSetup {
  std::int32_t min_nodes = 1, max_nodes = 1;
  std::chrono::milliseconds quorum;    ///< for min_nodes to come together
  std::chrono::milliseconds form;      ///< for those that have halted to come together again
  std::chrono::milliseconds detection; ///< without a sign of life, a node is dead
  /// Of a global batch, for so many workers at first.
  std::function<std::int64_t(std::int64_t workers)> slices = [](auto workers) { return workers; };
  std::function<void(const std::string&)> say; ///< tells a person who is missing
  WorkerGroups groups = {};                    ///< workers train in whole groups
  voter_actor voter = {};                      ///< this node's; null: nobody else decides
  /// Where this node takes over from a leader that is gone: the last generation, and why; stopped:
  /// it has left.
  std::optional<engine::GenerationRecord> before = {};
  Error lost = {};
  /// One leaves at a time, and none with a loss: each takes a part of the state along, of which
  /// another node has the only copy.
  bool leave_one_by_one = false;
  /// Why a part of a generation's state would go with a node; empty: it is on another one, too.
  std::function<std::string(const engine::GenerationRecord&)> lacks_copies = [](const auto&) {
    return std::string{};
  };
};

///   gathering --(all are there, and min_nodes)--> deciding --(a quorum of voters)--> connecting
///       ^  a node that goes is forgotten                                               | (lead)
///       +------ a node goes, or another comes: all halt, and come again ----------- training -->
///       ended
///
/// Each time round is a generation. If min_nodes, or nodes that fill whole groups of workers, do
/// not come within the quorum timeout, the job does not begin; one that has begun saves its state
/// and ends. A node that comes when all places are taken is a spare, and gets the ranks of the next
/// node that goes. A node whose workers fill no group is a spare until they do. When the leader is
/// to leave the others, MEMBERSHIP ends between two steps, and another node's takes over. Spares
/// and witnesses that come or go change who votes, which nobody halts for.
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
    std::optional<caf::typed_response_promise<engine::Seat>> seat; ///< that it waits for
    std::function<void()> when_gone = {}; ///< called when it goes: no answer will come
    bool leaves = false;                  ///< was asked to, and goes when all halt
    std::int64_t request = 0;             ///< for this seat: its number
  };
  /// An end of the job that is decided on, and what to do when all have been told.
  struct EndingJob {
    JobEnd end;
    std::function<void()> told;
  };
  using Members = std::vector<Member>;
  /// Waits for a place.
  struct Spare {
    NodeInfo info;
    Member member;
  };
  using Spares = std::vector<Spare>;

  caf::result<engine::Seat> admit(const NodeInfo& info, const member_actor& node);
  Status check(const NodeInfo& info, const member_actor& node, bool again) const;
  Status check_later(const NodeInfo& info) const;
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
  void take_in_heir(Spare node);
  void give_place(std::ptrdiff_t place, Spare node);
  void fill(std::ptrdiff_t place);
  static Spares::iterator find_spare(Spares& spares, const member_actor& node);
  void refuse_spares(const Error& error);
  caf::result<void> leave(const member_actor& node);
  void let_leave();
  caf::result<void> leave_as_leader();
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
  Result<engine::GenerationRecord> next_record();
  std::vector<engine::Voter> voters(const std::vector<engine::NodePlace>& nodes) const;
  std::vector<std::string> spare_addresses() const;
  bool may_revise() const;
  void revise();
  void settle_revision(bool is_decided);
  void tell_revision();
  void form_when_revised();
  void decide(const engine::GenerationRecord& record);
  void decided();
  void not_decided(const Error& error);
  void await_decision(std::int64_t generation);
  void give_up_deciding();
  void seat_members();
  void inherit();
  void await_heirs();
  void fill_after_leader();
  std::ptrdiff_t place_of(const std::string& address) const;
  void refuse_all(const Error& error);
  void halt(const Error& reason, bool is_loss, std::chrono::milliseconds detected_after = {});
  bool changes_wanted() const;
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
  caf::result<void> fail(std::int64_t generation, const Error& error);
  bool goes_on_after(const Error& error);
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
  LostNodes lost_;
  Roster roster_;
  Members members_;                        ///< in the order of their ranks; the first leads
  Spares spares_;                          ///< in the order in which they came
  Spares witnesses_;                       ///< the same; they vote, and train nothing
  std::vector<caf::actor_addr> dismissed_; ///< nodes that were sent away
  Phase phase_ = Phase::gathering;
  std::int64_t rounds_ = 0;                            ///< of gathering
  std::chrono::steady_clock::time_point gathering_;    ///< since when
  std::int64_t requests_ = 0;                          ///< for seats
  std::optional<engine::GenerationRecord> generation_; ///< the last one
  std::optional<engine::GenerationRecord> proposed_;   ///< while it is decided on
  std::optional<engine::GenerationRecord> revision_;   ///< of the last one, while it is decided on
  std::optional<EndingJob> ending_job_;                ///< until its nodes are told
  bool forms_next_ = false;                            ///< when the revision is settled
  engine::SharedFolder shared_;                        ///< of the last one
  std::string writer_;           ///< GenerationRecord::writer, once there is a first record
  std::optional<Error> changed_; ///< what has changed since it was proposed
  bool inherits_ = false;        ///< those whom another has led come together here
  coordinator_actor coordinator_;
  std::vector<caf::typed_response_promise<coordinator_actor>> followers_; ///< wait for it
  std::ptrdiff_t fetched_ = 0;                     ///< nodes that lacked the state, and have it
  engine::Change change_;                          ///< why nodes come together
  std::chrono::steady_clock::time_point changing_; ///< since when
  std::optional<Error> closed_;                    ///< why nobody is admitted any more
  std::optional<Error> unstarted_;                 ///< why the ranks will not all be connected
  std::optional<Error> ending_;                    ///< why the job is saved and ends
  std::optional<caf::typed_response_promise<void>> leaver_; ///< the leader's, which waits to leave
  int unexplained_ = 0; ///< generations that ended though no node was lost, since steps were made
  bool stopping_ = false, ended_ = false;
};

} // namespace troupe::actors
