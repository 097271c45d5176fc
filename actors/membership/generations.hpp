/// From one generation to the next: nodes gather, voters decide a record, and ranks connect.
#pragma once

#include "actors/job_status.hpp"
#include "actors/membership/departures.hpp"
#include "actors/membership/ending.hpp"
#include "actors/membership/newcomers.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace troupe::actors {

/// Each round of gathering makes a generation. If min_nodes, or nodes that fill whole groups of
/// workers, do not join within the quorum timeout, the job does not begin; a job that has begun
/// saves its state and ends.
class Generations {
public:
  /// All outlive this object.
  Generations(JobState& job, Participants& participants, Newcomers& newcomers, FaultSearch& faults,
              Records& records, Departures& departures, Ending& ending, Actions& actions)
      : job_{job}, participants_{participants}, newcomers_{newcomers}, faults_{faults},
        records_{records}, departures_{departures}, ending_{ending}, actions_{actions} {}

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
  /// If the proposed generation names this lost node, halts as soon as it is decided.
  void note_loss(const std::string& address, const Error& reason);
  /// Another node has received the state that the job resumes from.
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
  void give_up_gathering();
  void form();
  void begin_generation(training::GenerationRecord record);
  void end_revision(const training::GenerationRecord& record, bool is_decided);
  void give_up_deciding();

  JobState& job_;
  Participants& participants_;
  Newcomers& newcomers_;
  FaultSearch& faults_;
  Records& records_;
  Departures& departures_;
  Ending& ending_;
  Actions& actions_;
  Time gathering_ = {};                                     ///< since when
  std::optional<Time> form_limit_ = {}, quorum_limit_ = {}; ///< of gathering
  std::optional<Time> successors_ = {};     ///< limit for the nodes of a lost leader to join
  std::optional<Time> decision_limit_ = {}; ///< for the voters
  std::optional<Error> changed_ = {};       ///< what has changed since the proposal
  std::ptrdiff_t receivers_ = 0;            ///< nodes that have received the state
};

} // namespace troupe::actors
