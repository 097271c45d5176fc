/// The reaction to nodes that are lost, fail, or no longer wait.
#pragma once

#include "actors/membership/generations.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace troupe::actors {

class Failures {
public:
  /// All outlive this object.
  Failures(const JobState& job, Participants& participants, const Handover& handover,
           FaultSearch& faults, Departures& departures, Generations& generations, Ending& ending,
           Actions& actions)
      : job_{job}, participants_{participants}, handover_{handover}, faults_{faults},
        departures_{departures}, generations_{generations}, ending_{ending}, actions_{actions} {}

  /// The process of a node, or the connection to it, is lost.
  void node_down(NodeId node, const std::string& why, std::chrono::milliseconds detected_after);
  /// Drops a node that no longer waits for its assignment.
  void drop(NodeId node);
  /// Refuses and drops members whose limit for an assignment is over.
  void refuse_late();
  /// A node cannot do its part in a generation. Answers the request.
  void report(RequestId request, std::int64_t generation, const SharedFailure& failure);
  /// Halts all, so that they gather, and the nodes at fault are searched for.
  void suspect(const SharedFailure& failure);

private:
  void member_gone(Member& member, const std::string& why,
                   std::chrono::milliseconds detected_after);
  bool continues_after(const SharedFailure& failure);
  bool continues_without(const Error& error);

  const JobState& job_;
  Participants& participants_;
  const Handover& handover_;
  FaultSearch& faults_;
  Departures& departures_;
  Generations& generations_;
  Ending& ending_;
  Actions& actions_;
};

} // namespace troupe::actors
