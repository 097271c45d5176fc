/// New members, which are asked once more before the record names them.
#pragma once

#include "actors/membership/participants.hpp"
#include "actors/membership/probes.hpp"

#include <cstdint>
#include <map>
#include <optional>

namespace troupe::actors {

/// A new member that is stuck by now would delay all.
class Newcomers {
public:
  /// Both outlive this object.
  Newcomers(const Participants& participants, Probes& probes)
      : participants_{participants}, probes_{probes} {}

  /// Asks each new member once. Returns whether some have not answered yet.
  bool are_awaited();
  /// Ends the question to a new member. Returns it if it has not answered.
  std::optional<NodeId> end(const Probes::Outcome& outcome);
  void forget() { questions_.clear(); }

private:
  /// A question, asked as a probe without links.
  struct Question {
    std::int64_t probe = 0;
    bool is_answered = false;
  };

  const Participants& participants_;
  Probes& probes_;
  std::map<NodeId, Question> questions_ = {};
};

} // namespace troupe::actors
