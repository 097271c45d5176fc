// The roles of a generation on this host.
#include "actors/roles/async_shard_manager.hpp"
#include "actors/roles/checkpointer.hpp"
#include "actors/roles/coordinator.hpp"
#include "actors/roles/data_loader.hpp"
#include "actors/roles/generator.hpp"
#include "actors/roles/node.hpp"
#include "actors/roles/shard_manager.hpp"
#include "actors/roles/worker.hpp"
#include "collectives/step_policy.hpp"
#include "engine/trace_rows.hpp"

namespace troupe::actors {

template <class State, class Handle, caf::spawn_options Options, class Setup>
Handle NodeState::spawn_role(std::string_view group, Setup setup, int rank) {
  setup.row = generation().trace.track(group, State::name);
  auto role =
      self_->spawn<typename Handle::template stateful_impl<State>, Options>(std::move(setup));
  watch(caf::actor_cast<caf::actor>(role), State::name, rank);
  return role;
}

checkpointer_actor NodeState::spawn_checkpointer(const std::shared_ptr<engine::Replica>& replica) {
  const auto& job = generation().job();
  return spawn_role<CheckpointerState, checkpointer_actor, caf::detached>(
      job.config.checkpoint.is_sharded() ? engine::rank_rows(replica->rank) : engine::node_rows,
      CheckpointerSetup{.store = job.checkpoints(generation().seat.generation.writer),
                        .state = replica->state,
                        .rank = replica->rank,
                        .world_size = generation().world_size,
                        .metadata = job.checkpoint_metadata,
                        .steps_per_epoch = job.plan.steps_per_epoch(),
                        .keep = job.config.checkpoint.keep},
      job.config.checkpoint.is_sharded() ? replica->rank : -1);
}

/// Null where no samples are written.
generator_actor NodeState::spawn_generator(const std::shared_ptr<engine::Replica>& replica) {
  const auto& job = generation().job();
  if (!job.plan.writes_samples())
    return {};
  return spawn_role<GeneratorState, generator_actor, caf::detached>(
      engine::node_rows, GeneratorSetup{.state = replica->state, .config = job.config});
}

void NodeState::spawn_workers() {
  const auto& job = generation().job();
  const auto& dealing = generation().dealing;
  const auto loader = spawn_role<DataLoaderState, data_loader_actor>(
      engine::node_rows, DataLoaderSetup{.replicas = generation().replicas,
                                         .training = job.training,
                                         .evaluation = generation().evaluation,
                                         .dealing = dealing,
                                         .steps = job.plan.total_steps(),
                                         .fillers = generation().fillers,
                                         .coordinator = coordinator_});
  for (const auto& replica : generation().replicas)
    spawn_replica(replica, loader);
}

shard_manager_actor NodeState::spawn_shard_manager(const std::shared_ptr<engine::Replica>& replica,
                                                   Pass first, const metrics::Track& compute) {
  const auto& on = generation();
  const auto rows = engine::rank_rows(replica->rank);
  const StateSaverSetup saver{.checkpointer = checkpointer_of(replica),
                              .coordinator = coordinator_,
                              .generator = replica->rank == 0 ? generator_ : generator_actor{}};
  auto exchange = on.exchange(replica);
  exchange.row =
      replica->communication == replica->compute ? compute : on.trace.track(rows, "communication");
  if (replica->updates)
    exchange.host_rows = {on.trace.track(rows, "copies"), on.trace.track(rows, "host optimizer")};
  const auto index = static_cast<std::size_t>(replica->rank - on.replicas.front()->rank);
  if (!on.strategy.is_asynchronous()) {
    ShardManagerSetup setup{.exchange = std::move(exchange), .first_pass = first, .saver = saver};
    if (on.strategy.has_teams())
      setup.teams = {on.outer[index], on.sums[index], on.post, on.first_step};
    return spawn_role<ShardManagerState, shard_manager_actor>(rows, std::move(setup),
                                                              replica->rank);
  }
  return spawn_role<AsyncShardManagerState, shard_manager_actor>(
      rows,
      AsyncShardManagerSetup{.exchange = std::move(exchange),
                             .owner = on.owners[index],
                             .post = on.post,
                             .buddy = on.buddies ? std::optional{on.buddies.buddy_of(replica->rank)}
                                                 : std::nullopt,
                             .saver = saver},
      replica->rank);
}

void NodeState::spawn_replica(const std::shared_ptr<engine::Replica>& replica,
                              const data_loader_actor& loader) {
  const auto& job = generation().job();
  const auto& dealing = generation().dealing;
  const auto& evaluation = generation().evaluation;
  const auto rows = engine::rank_rows(replica->rank);
  const auto compute = generation().trace.track(rows, "compute");
  const auto first_pass = dealing.pass_of(generation().first_step);
  const auto shard_manager = spawn_shard_manager(replica, first_pass, compute);
  shard_managers_.push_back(shard_manager);
  const auto worker = spawn_role<WorkerState, worker_actor>(
      rows,
      WorkerSetup{.replica = replica,
                  .dealing = dealing,
                  .first_pass = first_pass,
                  .test_batches = evaluation ? evaluation->sampler().steps_per_epoch() : 0,
                  .scales_loss = job.loss_scale.has_value(),
                  .precision = job.precision,
                  .measure_peak =
                      [devices = generation().host->devices, replica,
                       precision = job.precision](std::function<void(double)> then) {
                        devices->measure_peak(replica->equipment->worker, precision,
                                              *replica->compute, std::move(then));
                      },
                  .loader = loader,
                  .shard_manager = shard_manager,
                  .coordinator = coordinator_,
                  .stream_row = compute},
      replica->rank);
  // Before COORDINATOR can ask for an evaluation, which may be the first thing.
  self_->send(shard_manager, atom::join_v, worker);
  const auto& info = replica->device().info();
  self_->send(coordinator_, atom::join_v,
              RankInfo{.rank = replica->rank,
                       .metrics = formed_->metrics_address,
                       .device = info.name,
                       .samples = job.training->dataset().size(),
                       .data = job.data_fingerprint,
                       .memory_bytes = info.on_host ? 0 : info.memory_bytes,
                       .peak_operations = peak_of(*replica)},
              worker, shard_manager, formed_->metrics);
}

/// As far as known: it was measured when the host was made, and may have been since.
double NodeState::peak_of(const engine::Replica& replica) {
  return generation()
      .host->devices->peak_operations(replica.equipment->worker, generation().job().precision)
      .value_or(0);
}

/// Null where the rank writes nothing.
checkpointer_actor NodeState::checkpointer_of(const std::shared_ptr<engine::Replica>& replica) {
  if (replica->rank == 0)
    return checkpointer_;
  return generation().job().saves(replica->rank) ? spawn_checkpointer(replica)
                                                 : checkpointer_actor{};
}

void NodeState::lead() {
  const auto& job = generation().job();
  const auto& rules = collectives::rules_of(generation().strategy.policy);
  const auto totals =
      totals_ ? *totals_ : RunTotals{.best = BestSoFar{job.config.checkpoint.best, formed_->best}};
  checkpointer_ = spawn_checkpointer(generation().replicas.front());
  generator_ = spawn_generator(generation().replicas.front());
  coordinator_ = spawn_role<CoordinatorState, coordinator_actor>(
      engine::node_rows,
      CoordinatorSetup{.plan = job.plan,
                       .first_step = generation().first_step,
                       .generation = generation().seat.generation,
                       .samples = job.training->dataset().size(),
                       .data = job.data_fingerprint,
                       .detection = job.config.cluster.timeouts.detection,
                       .collective = job.config.cluster.timeouts.collective,
                       .window = rules.window(generation().strategy),
                       .agree = [&rules, strategy = generation().strategy](
                                    std::int64_t step) { return rules.agree(strategy, step); },
                       .dealer = {.dealing = generation().dealing,
                                  .by_speed = job.config.data.dealing == "speed",
                                  .least = generation().strategy.trains_apart() ? 1 : 0,
                                  .recorded = job.dealing,
                                  .patience = job.config.parallel.stale.patience},
                       .records_reads = job.config.metrics.reads,
                       .learning_rate = job.learning_rate,
                       .info = formed_->info,
                       .before = formed_->before.value_or(totals.run),
                       .heal = formed_->heal,
                       .connect = formed_->connect,
                       .totals = totals,
                       .dies_with_a_node =
                           !engine::outlives_a_node(generation().strategy, generation().buddies,
                                                    generation().seat.generation),
                       .is_sharded = job.config.checkpoint.is_sharded(),
                       .takes_over = formed_->takes_over,
                       .checkpointer = checkpointer_,
                       .generator = generator_,
                       .metrics = formed_->metrics,
                       .membership = membership_});
  spawn_workers();
  if (membership_)
    self_->send(membership_, atom::lead_v, coordinator_);
  if (stopping_)
    self_->send(coordinator_, atom::stop_v);
  self_->request(coordinator_, caf::infinite, atom::run_v)
      .then([this](const RunOutcomePtr& outcome) { ended(outcome); },
            [](const caf::error&) {}); // it has died, as down() is told with the reason
}

} // namespace troupe::actors
