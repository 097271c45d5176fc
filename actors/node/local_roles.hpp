/// The roles of a generation on this host: spawns, watches and ends them for NODE.
#pragma once

#include "actors/node/node_context.hpp"
#include "actors/node/node_work.hpp"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe::actors {

class LocalRoles {
public:
  explicit LocalRoles(NodeContext& node) : node_{node} {}

  /// Takes the generation that trains next, and watches its METRICS.
  void take(BuiltGenerationPtr built);
  void drop() { built_.reset(); }
  explicit operator bool() const { return built_ != nullptr; }
  const BuiltGeneration& built() const { return *built_; }
  std::int64_t number() const { return generation().assignment.generation.number; }
  bool leads() const { return generation().assignment.leads(); }

  /// On the leader: spawns COORDINATOR and the roles of rank 0 that write. `before`: the totals of
  /// earlier generations; null: there are none.
  void spawn_coordinator(const RunTotalsPtr& before);
  /// Spawns the roles of the ranks and of their data. Precondition: COORDINATOR is known.
  void spawn_workers();
  /// Returns the error of a role that died by itself; none for other actors.
  std::optional<Error> down(const caf::down_msg& down);
  /// Fails all that waits for other ranks. `then`: called when the streams have drained.
  void abort(const Error& reason, const std::function<void()>& then);
  /// Ends all roles except METRICS and COORDINATOR.
  void end_ranks();
  /// Ends COORDINATOR. METRICS ends by itself.
  void end_rest();
  /// Calls `then` when all roles that were told to end have ended.
  void when_ended(std::function<void()> then);
  void end_all();

private:
  struct Role {
    caf::actor actor;
    std::string_view name;
    int rank = -1; ///< below 0: of the node, not of one of its ranks
  };

  const training::Generation& generation() const { return *built_->generation; }
  template <class State, class Handle, caf::spawn_options Options = caf::no_spawn_options,
            class Setup>
  Handle spawn_role(std::string_view group, Setup setup, int rank = -1);
  checkpointer_actor spawn_checkpointer(const std::shared_ptr<training::RankState>& rank_state);
  checkpointer_actor checkpointer_of(const std::shared_ptr<training::RankState>& rank_state);
  generator_actor spawn_generator(const std::shared_ptr<training::RankState>& rank_state);
  shard_manager_actor spawn_shard_manager(const std::shared_ptr<training::RankState>& rank_state,
                                          Pass first, const metrics::Track& compute);
  void spawn_rank(const std::shared_ptr<training::RankState>& rank_state,
                  const data_loader_actor& loader);
  void watch(const caf::actor& actor, std::string_view role, int rank = -1);

  NodeContext& node_;
  BuiltGenerationPtr built_; ///< the generation that trains
  std::vector<Role> roles_;
  std::vector<shard_manager_actor> shard_managers_;
  checkpointer_actor checkpointer_;     ///< of rank 0, on the leader
  generator_actor generator_;           ///< of rank 0, on the leader; null: no samples are written
  std::vector<caf::actor_addr> ending_; ///< roles that were told to end, and have not ended yet
  std::function<void()> when_ended_;
};

} // namespace troupe::actors
