#include "actors/node/local_roles.hpp"

#include "actors/roles/async_shard_manager.hpp"
#include "actors/roles/checkpointer.hpp"
#include "actors/roles/coordinator.hpp"
#include "actors/roles/data_loader.hpp"
#include "actors/roles/generator.hpp"
#include "actors/roles/shard_manager.hpp"
#include "actors/roles/worker.hpp"
#include "training/step_plan.hpp"
#include "training/trace_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::actors {

template <class State, class Handle, caf::spawn_options Options, class Setup>
Handle LocalRoles::spawn_role(std::string_view group, Setup setup, int rank) {
  setup.row = generation().trace.track(group, State::name);
  auto role =
      node_.self->spawn<typename Handle::template stateful_impl<State>, Options>(std::move(setup));
  watch(caf::actor_cast<caf::actor>(role), State::name, rank);
  return role;
}

checkpointer_actor
LocalRoles::spawn_checkpointer(const std::shared_ptr<training::RankState>& rank_state) {
  const auto& job = generation().job();
  return spawn_role<CheckpointerState, checkpointer_actor, caf::detached>(
      job.config.checkpoint.is_sharded() ? training::rank_rows(rank_state->rank)
                                         : training::node_rows,
      CheckpointerSetup{.store = job.checkpoints(generation().assignment.generation.writer),
                        .state = rank_state->state,
                        .rank = rank_state->rank,
                        .world_size = generation().world_size,
                        .metadata = job.checkpoint_metadata,
                        .plan = job.plan,
                        .keep = job.config.checkpoint.keep},
      job.config.checkpoint.is_sharded() ? rank_state->rank : -1);
}

/// Returns null if no samples are written.
generator_actor
LocalRoles::spawn_generator(const std::shared_ptr<training::RankState>& rank_state) {
  const auto& job = generation().job();
  if (!job.plan.writes_samples())
    return {};
  return spawn_role<GeneratorState, generator_actor, caf::detached>(
      training::node_rows, GeneratorSetup{.state = rank_state->state, .config = job.config});
}

void LocalRoles::spawn_workers() {
  const auto& job = generation().job();
  const auto loader = spawn_role<DataLoaderState, data_loader_actor>(
      training::node_rows, DataLoaderSetup{.rank_states = generation().rank_states,
                                           .steps = job.plan.total_steps(),
                                           .coordinator = node_.coordinator});
  for (const auto& rank_state : generation().rank_states)
    spawn_rank(rank_state, loader);
}

shard_manager_actor
LocalRoles::spawn_shard_manager(const std::shared_ptr<training::RankState>& rank_state, Pass first,
                                const metrics::Track& compute) {
  const auto& on = generation();
  const auto rows = training::rank_rows(rank_state->rank);
  const ShardManagerNeighbours others{.checkpointer = checkpointer_of(rank_state),
                                      .coordinator = node_.coordinator,
                                      .generator =
                                          rank_state->rank == 0 ? generator_ : generator_actor{}};
  const auto index = static_cast<std::size_t>(rank_state->rank - on.rank_states.front()->rank);
  if (on.strategy.is_asynchronous())
    return spawn_role<AsyncShardManagerState, parameter_server_actor>(
        rows,
        AsyncShardManagerSetup{
            .rank_state = rank_state,
            .slice_assignment = on.slice_assignment,
            .owner = on.owners[index],
            .point_to_point = on.point_to_point,
            .replica_rank = on.shard_replicas
                                ? std::optional{on.shard_replicas.replica_rank_of(rank_state->rank)}
                                : std::nullopt,
            .others = others},
        rank_state->rank);
  ShardManagerSetup setup{.reducer = on.reducer(rank_state), .first_pass = first, .others = others};
  setup.reducer.row = rank_state->communication == rank_state->compute
                          ? compute
                          : on.trace.track(rows, "communication");
  if (rank_state->updates)
    setup.reducer.host_rows = {on.trace.track(rows, "copies"),
                               on.trace.track(rows, "host optimizer")};
  if (on.strategy.has_replica_groups())
    setup.replica_groups = {on.outer[index], on.sums[index], on.point_to_point, on.first_step};
  return spawn_role<ShardManagerState, synchronous_shard_manager_actor>(rows, std::move(setup),
                                                                        rank_state->rank);
}

void LocalRoles::spawn_rank(const std::shared_ptr<training::RankState>& rank_state,
                            const data_loader_actor& loader) {
  const auto& job = generation().job();
  const auto& slice_assignment = generation().slice_assignment;
  const auto& evaluation = generation().evaluation;
  const auto& devices = generation().compiled_job->devices;
  const auto rows = training::rank_rows(rank_state->rank);
  const auto compute = generation().trace.track(rows, "compute");
  const auto first_pass = slice_assignment.pass_of(generation().first_step);
  const auto shard_manager = spawn_shard_manager(rank_state, first_pass, compute);
  shard_managers_.push_back(shard_manager);
  const auto worker = spawn_role<WorkerState, worker_actor>(
      rows,
      WorkerSetup{
          .rank_state = rank_state,
          .slice_assignment = slice_assignment,
          .first_pass = first_pass,
          .test_batches = evaluation ? evaluation->sampler().steps_per_epoch() : 0,
          .scales_loss = job.loss_scale.has_value(),
          .precision = job.precision,
          .measure_peak =
              [devices, rank_state, precision = job.precision](std::function<void(double)> then) {
                devices->measure_peak(rank_state->compiled->worker, precision, *rank_state->compute,
                                      std::move(then));
              },
          .loader = loader,
          .shard_manager = shard_manager,
          .coordinator = node_.coordinator,
          .stream_row = compute},
      rank_state->rank);
  // First, because COORDINATOR may begin with an evaluation.
  node_.self->send(shard_manager, atom::join_v, worker);
  const auto& info = rank_state->device().info();
  node_.self->send(
      node_.coordinator, atom::join_v,
      RankInfo{
          .rank = rank_state->rank,
          .metrics = node_.setup.metrics,
          .device = info.name,
          .samples = job.training->dataset().size(),
          .data = job.data_fingerprint,
          .memory_bytes = info.on_host ? 0 : info.memory_bytes,
          .peak_operations =
              devices->peak_operations(rank_state->compiled->worker, job.precision).value_or(0)},
      worker, shard_manager, built_->metrics);
}

/// Returns null if the rank writes nothing.
checkpointer_actor
LocalRoles::checkpointer_of(const std::shared_ptr<training::RankState>& rank_state) {
  if (rank_state->rank == 0)
    return checkpointer_;
  return generation().job().saves(rank_state->rank) ? spawn_checkpointer(rank_state)
                                                    : checkpointer_actor{};
}

void LocalRoles::spawn_coordinator(const RunTotalsPtr& before) {
  const auto& job = generation().job();
  const auto& rules = training::rules_of(generation().strategy.policy);
  const auto agree = [&rules, strategy = generation().strategy](std::int64_t step) {
    return rules.plan(strategy, step).agrees;
  };
  const auto totals =
      before ? *before : RunTotals{.best = BestSoFar{job.config.checkpoint.best, built_->best}};
  checkpointer_ = spawn_checkpointer(generation().rank_states.front());
  generator_ = spawn_generator(generation().rank_states.front());
  node_.coordinator = spawn_role<CoordinatorState, coordinator_actor>(
      training::node_rows,
      CoordinatorSetup{.plan = job.plan,
                       .first_step = generation().first_step,
                       .generation = generation().assignment.generation,
                       .samples = job.training->dataset().size(),
                       .data = job.data_fingerprint,
                       .timeouts = job.config.cluster.timeouts,
                       .window = rules.window(generation().strategy),
                       .agree = agree,
                       .balancer = generation().balancer(),
                       .wait_tolerance = job.config.parallel.async.wait_tolerance,
                       .records_reads = job.config.metrics.reads,
                       .learning_rate = job.learning_rate,
                       .info = built_->info,
                       .before = built_->before.value_or(totals.run),
                       .heal = built_->heal,
                       .connect = built_->connect,
                       .totals = totals,
                       .dies_with_a_node = !training::outlives_a_node(
                           generation().strategy, generation().shard_replicas,
                           generation().assignment.generation),
                       .is_sharded = job.config.checkpoint.is_sharded(),
                       .takes_over = built_->takes_over,
                       .checkpointer = checkpointer_,
                       .generator = generator_,
                       .metrics = built_->metrics,
                       .membership = node_.membership});
}

/// Monitors, does not link: a role that dies ends the job with a message, not the node.
void LocalRoles::watch(const caf::actor& actor, std::string_view role, int rank) {
  node_.self->monitor(actor);
  roles_.push_back({actor, role, rank});
}

void LocalRoles::take(BuiltGenerationPtr built) {
  built_ = std::move(built);
  watch(caf::actor_cast<caf::actor>(built_->metrics), "metrics");
}

std::optional<Error> LocalRoles::down(const caf::down_msg& down) {
  if (std::erase(ending_, down.source) > 0) {
    if (ending_.empty() && when_ended_)
      std::exchange(when_ended_, {})();
    return {};
  }
  const auto found = std::ranges::find_if(
      roles_, [&](const Role& candidate) { return candidate.actor.address() == down.source; });
  if (found == roles_.end())
    return {};
  const auto role = *found;
  roles_.erase(found);
  if (down.reason == caf::exit_reason::user_shutdown)
    return {};
  const auto& place = generation().assignment.member();
  return Error{Errc::internal,
               fmt::format("the {} died: {}", role.name, caf::to_string(down.reason)),
               {.node = place.address.empty() ? place.host : place.address,
                .actor = std::string{role.name},
                .rank = role.rank}};
}

/// Otherwise ranks that wait for a failed one would wait for the timeout.
void LocalRoles::abort(const Error& reason, const std::function<void()>& then) {
  const auto waiting = std::make_shared<std::size_t>(shard_managers_.size());
  const auto answered = [waiting, then] {
    if (--*waiting == 0)
      then();
  };
  if (shard_managers_.empty())
    return then();
  for (const auto& shard_manager : shard_managers_)
    node_.self->request(shard_manager, caf::infinite, atom::abort_v, reason)
        .then(answered, [answered](const caf::error&) { answered(); });
}

void LocalRoles::end_ranks() {
  shard_managers_.clear();
  std::erase_if(roles_, [this](const Role& role) {
    const bool stays = role.actor.address() == node_.coordinator.address() ||
                       role.actor.address() == built_->metrics.address();
    if (!stays) {
      ending_.push_back(role.actor.address());
      node_.self->send_exit(role.actor, caf::exit_reason::user_shutdown);
    }
    return !stays;
  });
}

void LocalRoles::end_rest() {
  for (const auto& role : std::exchange(roles_, {})) {
    ending_.push_back(role.actor.address());
    if (role.actor.address() == node_.coordinator.address())
      node_.self->send_exit(role.actor, caf::exit_reason::user_shutdown);
  }
}

void LocalRoles::when_ended(std::function<void()> then) {
  if (ending_.empty())
    return then();
  when_ended_ = std::move(then);
}

void LocalRoles::end_all() {
  end_ranks();
  for (const auto& role : roles_)
    node_.self->send_exit(role.actor, caf::exit_reason::user_shutdown);
  drop();
}

} // namespace troupe::actors
