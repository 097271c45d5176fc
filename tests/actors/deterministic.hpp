/// Actors without threads or real time: messages run when the test runs the scheduler, timers when
/// it advances the clock.
#pragma once

#include "actors/interfaces.hpp"

#include <caf/scheduler/test_coordinator.hpp>

#include <string>
#include <vector>

namespace troupe::actors::test {

class DeterministicConfig : public caf::actor_system_config {
public:
  DeterministicConfig() {
    set("caf.scheduler.policy", "testing");
    set("caf.metrics-filters.actors.includes",
        std::vector<std::string>{"*"}); // required by METRICS
  }
};

class Deterministic {
public:
  Deterministic() = default;
  // Pending timeouts keep their actors alive: without this loop ~actor_system would block forever.
  ~Deterministic() {
    do
      scheduler.run();
    while (scheduler.trigger_timeout());
  }

  DeterministicConfig config;
  caf::actor_system system{config};
  caf::scheduler::test_coordinator& scheduler =
      dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  caf::scoped_actor self{system, true};
};

/// Spawns an actor with the state class of a role.
template <class State, class Handle, class... Args>
Handle spawn_state(caf::actor_system& system, Args&&... args) {
  return system.spawn<typename Handle::template stateful_impl<State>>(std::forward<Args>(args)...);
}

} // namespace troupe::actors::test
