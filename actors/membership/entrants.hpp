/// Nodes that ask to take part: which requests count, which nodes may not, and the proof that other
/// nodes can work with a node, before it does.
#pragma once

#include "actors/membership/participants.hpp"
#include "actors/membership/probes.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe::actors {

/// Texts by name, each forgotten after a minute, so that nothing is reported or repeated at once.
/// Stores a bounded number, because names come from strangers.
class Recent {
public:
  static constexpr std::chrono::minutes time_kept{1};
  static constexpr std::size_t most = 1024;

  /// Returns an empty string if nothing is noted.
  std::string of(const std::string& name, Time now) const {
    const auto found = noted_.find(name);
    return found != noted_.end() && now - found->second.when < time_kept ? found->second.text : "";
  }
  void note(const std::string& name, std::string text, Time now) {
    std::erase_if(noted_, [now](const auto& old) { return now - old.second.when >= time_kept; });
    if (noted_.size() == most)
      noted_.erase(
          std::ranges::min_element(noted_, {}, [](const auto& old) { return old.second.when; }));
    noted_[name] = {std::move(text), now};
  }
  void forget(const std::string& name) { noted_.erase(name); }

private:
  struct Noted {
    std::string text;
    Time when;
  };

  std::map<std::string, Noted> noted_;
};

/// A joining node is an entrant until its data port and those of all members can be reached in both
/// directions and, if a running job would halt for it, until it has stayed connected for a while.
/// Entrants are proven one at a time, so that no stranger makes the nodes dial many ports.
class Entrants {
public:
  Entrants(const JobState& job, Participants& participants, Probes& probes, Actions& actions)
      : job_{job}, participants_{participants}, probes_{probes}, actions_{actions} {}

  // The requests of each process.

  /// Whether the request is a replay: each process numbers its requests, and they arrive in order.
  bool is_replay(const NodeInfo& info) const;
  void note_attempt(const NodeInfo& info) { attempts_[info.process] = info.attempt; }
  /// A dismissed process is not admitted again.
  void dismiss(const std::string& process) { dismissed_.insert(process); }
  /// A process that is left out may join again, with its next request.
  void leave_out(const std::string& process, NodeId node) { left_out_[process] = node; }
  /// Returns whether the process was left out before.
  bool returns(const std::string& process) { return left_out_.erase(process) > 0; }
  /// By process.
  const std::map<std::string, NodeId>& left_out() const { return left_out_; }

  /// Checks a node that asks to take part, or asks again. Errors: invalid_input, data; network if
  /// it may try again; stopped if it may not. `known`: null if it asks for the first time.
  Status check(const NodeInfo& info, const Member* known) const;
  /// Returns why the leader has to go if it was restarted and has other data now than this node,
  /// which has trained the job further; none: it need not.
  std::optional<Error> leader_is_behind(const NodeInfo& info) const;
  /// Nodes of the last generation that join a new leader have proven themselves before.
  bool needs_proof(const NodeInfo& info) const;

  void add(Spare node) { entrants_.push_back({std::move(node)}); }
  /// Notes the next request of a node, if it is an entrant. Refuses the earlier one.
  void ask_again(const Spare& node);
  /// Null: it is no entrant.
  const Member* find_member(NodeId node) const;
  std::vector<NodeId> nodes() const;
  /// Entrants whose links work, and that only wait until they are stable.
  std::vector<NodeId> proven() const;
  /// Removes an entrant, whose request stays pending; none: it is no entrant.
  std::optional<Spare> take(NodeId node);
  void refuse(Spare node, const Error& error);
  /// Refuses a request of a node that does not become an entrant.
  void refuse_request(Spare& node, const Error& error);
  void refuse_all(const Error& error);

  /// Tries the links of the next entrant, unless a proof is in progress. Refuses the entrant if
  /// there is no ticket.
  void prove_next();
  bool is_proof(std::int64_t probe) const { return probe == proof_; }
  /// Ends a proof. Returns the entrant if it may be admitted now.
  std::optional<NodeId> end_proof(const Probes::Outcome& outcome);
  /// Tries the links of entrants that stayed connected again: they may have broken meanwhile.
  void wake();
  std::optional<Time> next_wake() const;

private:
  struct Entrant {
    Spare node;
    bool is_proven = false; ///< its links work, and it waits until it is stable
    bool is_stable = false; ///< it stayed connected; its links are tried again
    std::optional<Time> stable_at = {};
  };
  using All = std::vector<Entrant>;

  const MemberList& list() const { return participants_.list(); }
  Error refusal(const NodeInfo& info) const;
  Status check_entry(const NodeInfo& info) const;
  Status check_job(const NodeInfo& info) const;
  Status check_name(const NodeInfo& info) const;
  Status check_slices(const NodeInfo& info) const;
  Status check_data(const NodeInfo& info) const;
  training::NodeAssignment refusal_of(const NodeInfo& info, const Error& error) const;
  void report_problem(const std::string& node, const std::string& problem);
  All::iterator find(NodeId node);
  bool has_to_be_stable(const Entrant& entrant) const;
  void refuse_unreached(All::iterator entrant, const std::vector<BrokenLink>& broken);

  const JobState& job_;
  Participants& participants_;
  Probes& probes_;
  Actions& actions_;
  std::map<std::string, std::int64_t> attempts_ = {}; ///< last join request, by process
  std::set<std::string> dismissed_ = {};              ///< processes
  std::map<std::string, NodeId> left_out_ = {};       ///< by process
  Recent problems_reported_ = {};                     ///< by node
  All entrants_ = {};                                 ///< in the order in which they asked
  std::int64_t proof_ = 0;                            ///< number of the probe in progress; 0: none
  NodeId proving_ = {};                               ///< the entrant whose links it tries
  Recent failed_proofs_ = {};                         ///< by data port
  std::map<std::string, std::string> reached_ports_ = {}; ///< by node: port that all have reached
};

} // namespace troupe::actors
