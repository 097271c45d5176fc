/// The nodes that take part in a job: members, which train, and spares and witnesses, which wait.
#pragma once

#include "actors/membership/actions.hpp"
#include "actors/membership/job_state.hpp"
#include "actors/membership/member_list.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::actors {

/// A node that has, or waits for, an assignment.
struct Member {
  NodeId id = {};
  std::string address = {};
  std::optional<RequestId> request = {}; ///< its pending join request
  std::optional<Time> limit = {};        ///< for the answer to it
  bool leaves = false;                   ///< was asked to leave, and does when all halt
  std::int64_t came = 0;                 ///< greater: joined later
  bool returns = false;                  ///< was left out before
};

/// A node that waits until it gets ranks.
struct Spare {
  NodeInfo info;
  Member member;
};
using Spares = std::vector<Spare>;

inline Error asked_to_leave() {
  return {Errc::stopped, "this node was asked to leave"};
}
/// Each process numbers its join requests, and only the last one counts.
inline Error replaced_by_later() {
  return {Errc::stopped, "replaced by a later request of the same process"};
}

/// Assigns ranks to nodes: members_ has their order, and the first member leads. If workers train
/// in groups, as many nodes as fill whole groups train.
class Participants {
public:
  Participants(const JobState& job, Actions& actions)
      : job_{job}, actions_{actions}, list_{job.rules.min_nodes} {}

  /// The members in the same order, and the nodes that are awaited.
  const MemberList& list() const { return list_; }
  std::vector<Member>& members() { return members_; }
  const std::vector<Member>& members() const { return members_; }
  const Spares& spares() const { return spares_; }
  const Spares& witnesses() const { return witnesses_; }
  /// Null: it is no member.
  Member* find(NodeId node);
  Member* find(std::string_view address);
  const Member* find(std::string_view address) const;
  const Member* find(NodeId node) const;
  /// Null: it is neither a spare nor a witness.
  const Spare* find_waiting(NodeId node) const;
  const NodeInfo& info(const Member& member) const {
    return list_.nodes()[static_cast<std::size_t>(&member - members_.data())];
  }
  bool leads(const Member& member) const { return &member == &members_.front(); }
  /// The data ports of the members.
  std::vector<LinkEnd> link_ends() const;
  /// All spares and witnesses.
  std::vector<NodeId> waiting() const;

  /// Describes the wait of a spare or witness; empty: it waits for nothing.
  std::string why_it_waits(const Spare& node) const;
  /// Logs which nodes are missing, if some are.
  void say_missing();
  /// Explains why a node with this many workers cannot take part now, beside the members and
  /// spares; empty: it can.
  std::string lacks_place(std::int32_t workers) const { return lacks_place(workers, spares_); }
  /// Whether the members, and the spares that could join them, are enough to train.
  bool has_enough() const;
  /// Describes the missing nodes; empty: none.
  std::string waiting_for() const;
  /// Sets the spares and voters of a record that names the nodes that train. Voters are at most
  /// five, because each must be able to reach all nodes: those that train, the leader first;
  /// witnesses while there is room; and a spare if their number would be even. An even number of
  /// voters needs a larger quorum and tolerates no more losses.
  void name_voters(training::GenerationRecord& record) const;

  /// Makes a node a member if there is room, else a spare; or a witness.
  void take_in(Spare node);
  /// Notes the next request of a member, spare or witness. Refuses a pending earlier one.
  void ask_again(const Spare& node);
  /// Waits for this node to join.
  void await(const std::string& address) { list_.await(address); }
  /// No longer waits for it.
  void stop_waiting(const std::string& address) { list_.arrived(address); }
  void stop_waiting_for_strangers();
  /// Removes a member. Spares take over its ranks.
  void remove(const Member& member);
  /// Returns the members whose limit for an assignment is over, once.
  std::vector<NodeId> take_late();
  std::optional<Time> next_limit() const;
  /// Removes a spare or witness, whose request stays pending; none: it is neither.
  std::optional<Spare> take_waiting(NodeId node);
  /// Makes the chosen nodes members, and the others spares. Without a whole group the members stay,
  /// to save the state as one group.
  void regroup();
  /// Gives spares the ranks of nodes that did not join this leader.
  void fill_after_leader();
  void refuse_waiting(const Error& error);
  /// Refuses all, except that the list stays, to compare later nodes with the leader.
  void refuse_all(const Error& error);

private:
  std::string lacks_place(std::int32_t workers, const Spares& spares) const;
  std::set<std::string> choose_trainers() const;
  std::vector<NodeInfo> candidates() const;
  void replace_request(Member& member, const Spare& node);
  std::int64_t arrival_of(const std::string& address);
  std::ptrdiff_t place_of(const std::string& address) const;
  void admit_successor(Spare node);
  void give_place(std::ptrdiff_t place, Spare node);
  void fill(std::ptrdiff_t place);
  void admit_spares(std::ptrdiff_t place, const std::function<bool(const NodeInfo&)>& is_chosen);
  void make_spare(std::size_t place);

  const JobState& job_;
  Actions& actions_;
  MemberList list_;
  std::vector<Member> members_; ///< in the order of their ranks
  Spares spares_;               ///< in the order in which they joined
  Spares witnesses_;            ///< in the same order; they vote, and train nothing
  std::int64_t arrivals_ = 0;
};

} // namespace troupe::actors
