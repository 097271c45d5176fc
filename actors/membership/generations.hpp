/// From one generation to the next: nodes gather, voters decide a record, ranks connect, and all
/// halt for nodes that join or leave.
#pragma once

#include "actors/job_status.hpp"
#include "actors/membership/ending.hpp"
#include "actors/membership/fault_search.hpp"
#include "actors/membership/records.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace troupe::actors {

/// Each round of gathering makes a generation. If min_nodes, or nodes that fill whole groups of
/// workers, do not join within the quorum timeout, the job does not begin; a job that has begun
/// saves its state and ends.
class Generations {
public:
  Generations(JobState& job, Participants& participants, Entrants& entrants,
              const Handover& handover, FaultSearch& faults, Records& records, Ending& ending,
              Actions& actions)
      : job_{job}, participants_{participants}, entrants_{entrants}, handover_{handover},
        faults_{faults}, records_{records}, ending_{ending}, actions_{actions} {}

  /// Begins to wait for nodes: of a new job, or of that of a lost leader.
  void begin();
  /// Proposes the next generation if all awaited nodes have joined, and they are enough.
  void form_if_complete();
  /// The voters have decided the pending record. `refused`: another node leads.
  void decided(const std::optional<Error>& refused);
  /// Precondition: ranks connect.
  void begin_training();
  /// Ends the generation: all its nodes request an assignment in the next.
  void halt(const Error& reason, bool is_loss, std::chrono::milliseconds detected_after = {});
  /// Asks COORDINATOR to halt between two steps if nodes join or leave.
  void ask_to_halt_if_wanted();
  /// Halts all for nodes that join or leave.
  void halt_as_wanted();
  /// If the proposed generation names this lost node, halts as soon as it is decided.
  void note_loss(const std::string& address, const Error& reason);
  /// Removes a member that still runs: its daemon ends, and this process is not admitted again.
  /// Spares take over its ranks.
  void dismiss(Member& member, JobEnd end);
  /// Dismisses the nodes that were asked to leave, now that nothing is trained.
  void let_leave();
  void state_received() { ++receivers_; }

  void wake();
  /// Gives up if enough nodes or voters have not come within the quorum timeout.
  void give_up_late();
  std::optional<Time> next_wake() const;
  /// Describes what a member waits for; empty: nothing.
  WaitStatus status(Time now) const;

private:
  void inherit();
  void gather();
  bool waits_for_returns();
  void dismiss_absent();
  void give_up_gathering();
  void form();
  void begin_generation(training::GenerationRecord record);
  void end_revision(const training::GenerationRecord& record, bool is_decided);
  void give_up_deciding();

  JobState& job_;
  Participants& participants_;
  Entrants& entrants_;
  const Handover& handover_;
  FaultSearch& faults_;
  Records& records_;
  Ending& ending_;
  Actions& actions_;
  Time gathering_ = {};                                     ///< since when
  std::optional<Time> form_limit_ = {}, quorum_limit_ = {}; ///< of gathering
  std::optional<Time> successors_ = {};     ///< limit for the nodes of a lost leader to join
  std::optional<Time> decision_limit_ = {}; ///< for the voters
  std::optional<Error> changed_ = {};       ///< what has changed since the proposal
  std::ptrdiff_t receivers_ = 0;            ///< nodes that have received the state
  std::int64_t asked_in_ = 0; ///< last generation in which COORDINATOR was asked to halt
  bool asked_to_save_ = false;
  std::optional<Time> returned_ = {};   ///< time of the last halt for nodes that were left out
  std::optional<Time> returns_at_ = {}; ///< when the job may halt for such nodes; empty: none wait
};

} // namespace troupe::actors
