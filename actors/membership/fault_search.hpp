/// The search for members that cannot work with the others: after a failure between nodes, while
/// ranks connect, and before a record names a new member.
#pragma once

#include "actors/membership/blame.hpp"
#include "actors/membership/handover.hpp"
#include "actors/membership/participants.hpp"
#include "actors/membership/probes.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe::actors {

/// After a failure between nodes (network, collective) all nodes halt and join again, and then
/// probe each other's data ports before the next generation is built: the error of a rank that
/// waits in vain blames neither node, because ranks wait for each other in circles.
class FaultSearch {
public:
  /// By node: why it is left out.
  using Evidence = std::map<std::string, std::string>;

  FaultSearch(const JobState& job, const Participants& participants, const Handover& handover,
              Probes& probes, Actions& actions)
      : job_{job},
        participants_{participants}, handover_{handover}, probes_{probes}, actions_{actions} {}

  /// Counts failures since the last step for which no node was blamed. Returns whether all may try
  /// again.
  bool may_try_again();
  void forget_failures() { unexplained_ = 0; }
  /// Begins a search. A failure during a search is not searched for.
  void begin(const SharedFailure& failure);
  void cancel() { search_.reset(); }
  /// Has all members try their links, if there is a search. Returns whether it waits for them.
  bool waits_for_links();
  /// Ends the search if this was its probe. Returns the evidence against nodes; it may be empty.
  std::optional<Evidence> end(const Probes::Outcome& outcome);

  /// Probes links while ranks connect: ranks that cannot connect report it only after minutes.
  void watch_connecting();
  /// Ends such a probe. Returns the failure that it found.
  std::optional<SharedFailure> end_watch(const Probes::Outcome& outcome);
  /// Asks each new member once whether it still answers, because one that is stuck by now would
  /// delay all. Returns whether some have not answered yet.
  bool waits_for_newcomers();
  /// Ends the question to a new member. Returns it if it has not answered.
  std::optional<NodeId> end_question(const Probes::Outcome& outcome);
  void forget_newcomers() { questions_.clear(); }
  void wake();
  std::optional<Time> next_wake() const { return watches_at_; }

private:
  struct Search {
    SharedFailure failure;
    std::int64_t probe = 0; ///< number of the probe in progress; 0: none yet
  };

  Evidence blame_links(const std::vector<BrokenLink>& broken) const;
  Evidence blame_behind(const SharedFailure& failure) const;
  std::vector<BlameCandidate> candidates() const;
  BlameCosts costs() const;

  const JobState& job_;
  const Participants& participants_;
  const Handover& handover_;
  Probes& probes_;
  Actions& actions_;
  std::optional<Search> search_ = {};
  /// Questions to new members, asked as probes without links: number of the probe; 0: answered.
  std::map<NodeId, std::int64_t> questions_ = {};
  std::optional<Time> watches_at_ = {};
  std::int64_t watch_ = 0; ///< number of the probe while ranks connect; 0: none
  int unexplained_ = 0;
};

} // namespace troupe::actors
