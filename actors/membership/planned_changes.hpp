/// Halts of a training job between two steps, for nodes that join or leave.
#pragma once

#include "actors/membership/handover.hpp"
#include "actors/membership/records.hpp"

#include <cstdint>
#include <optional>

namespace troupe::actors {

class PlannedChanges {
public:
  /// All outlive this object.
  PlannedChanges(const JobState& job, const Participants& participants, const Handover& handover,
                 Records& records, Actions& actions)
      : job_{job},
        participants_{participants}, handover_{handover}, records_{records}, actions_{actions} {}

  /// Asks COORDINATOR to halt if a change is wanted.
  void ask_if_wanted();
  /// Why all halt.
  Error wanted() const;
  /// When the job may halt for nodes that were left out before; empty: none wait for that.
  std::optional<Time> next_wake() const { return returns_at_; }

private:
  bool was_asked() const;
  bool waits_for_returns();

  const JobState& job_;
  const Participants& participants_;
  const Handover& handover_;
  Records& records_;
  Actions& actions_;
  std::int64_t asked_in_ = 0; ///< last generation in which COORDINATOR was asked to halt
  bool asked_to_save_ = false;
  std::optional<Time> returned_ = {};   ///< time of the last halt for nodes that were left out
  std::optional<Time> returns_at_ = {}; ///< time of the next one
};

} // namespace troupe::actors
