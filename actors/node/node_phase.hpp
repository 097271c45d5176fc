/// The phases of NODE, the events that change them, and the table of all changes, which
/// tools/draw-phases draws.
#pragma once

#include <array>
#include <cstdint>

namespace troupe::actors {

enum class NodePhase : std::uint8_t {
  joining,    ///< looks for a job, or for its next leader
  waiting,    ///< has requested an assignment
  building,   ///< has an assignment, and prepares the generation
  training,   ///< its roles run, or wait for COORDINATOR
  recovering, ///< the generation is over, and the node has not requested the next assignment yet
  draining,   ///< the job has ended for this node
  done        ///< the main thread knows the outcome
};

enum class NodeEvent : std::uint8_t {
  request, ///< this node requests an assignment
  refusal, ///< the request was refused, withdrawn, or lost with the leader
  assignment,
  built, ///< the generation is ready; a single node needs no assignment
  halt,  ///< the generation is over
  end,   ///< the job has ended for this node
  release
};

struct NodeChange {
  NodePhase from;
  NodeEvent event;
  NodePhase to;
};

inline constexpr auto node_changes = [] {
  using enum NodePhase;
  using Event = NodeEvent;
  return std::array{
      NodeChange{joining, Event::request, waiting},
      NodeChange{joining, Event::built, training},
      NodeChange{joining, Event::end, draining},
      NodeChange{waiting, Event::refusal, joining},
      NodeChange{waiting, Event::assignment, building},
      NodeChange{waiting, Event::end, draining},
      NodeChange{building, Event::request, waiting},
      NodeChange{building, Event::built, training},
      NodeChange{building, Event::halt, recovering},
      NodeChange{building, Event::end, draining},
      NodeChange{training, Event::halt, recovering},
      NodeChange{training, Event::end, draining},
      NodeChange{recovering, Event::request, waiting},
      NodeChange{recovering, Event::end, draining},
      NodeChange{draining, Event::release, done},
  };
}();

/// Returns the phase after an event. An event without a row changes nothing: it is late, or was
/// overtaken by the end of the job.
constexpr NodePhase after(NodePhase phase, NodeEvent event) {
  for (const auto& change : node_changes)
    if (change.from == phase && change.event == event)
      return change.to;
  return phase;
}

} // namespace troupe::actors
