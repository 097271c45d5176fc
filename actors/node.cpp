#include "node.hpp"

#include "checkpointer.hpp"
#include "coordinator.hpp"
#include "data_loader.hpp"
#include "shard_manager.hpp"
#include "traced.hpp"
#include "worker.hpp"

#include <algorithm>

namespace troupe::actors {

NodeState::NodeState(node_actor::pointer self, std::shared_ptr<Job> job, metrics_actor metrics,
                     std::function<void()> stopped)
    : self_{self}, job_{std::move(job)}, metrics_{std::move(metrics)}, stopped_{
                                                                           std::move(stopped)} {}

node_actor::behavior_type NodeState::make_behavior() {
  self_->set_down_handler([this](const caf::down_msg& down) { role_down(down); });
  self_->set_exit_handler([this](const caf::exit_msg& exit) {
    end_roles();
    self_->quit(exit.reason);
  });
  spawn_roles();
  return traced<node_actor>(
      job_->trace.track(node_rows, name),
      [this](atom::run) { return self_->delegate(coordinator_, atom::run_v); },
      [this](atom::stop) { stop(); },
      [this](atom::status) { return self_->delegate(coordinator_, atom::status_v); });
}

template <class State, class Handle, caf::spawn_options Options, class Setup>
Handle NodeState::spawn_role(std::string_view group, Setup setup) {
  // Monitored, not linked: a role that dies ends the job with a message, not the node.
  setup.row = job_->trace.track(group, State::name);
  auto role =
      self_->spawn<typename Handle::template stateful_impl<State>, Options + caf::monitored>(
          std::move(setup));
  roles_.push_back(caf::actor_cast<caf::actor>(role));
  return role;
}

void NodeState::spawn_roles() {
  const auto& job = *job_;
  const auto checkpointer = spawn_role<CheckpointerState, checkpointer_actor, caf::detached>(
      node_rows, CheckpointerSetup{.store = job.checkpoints(),
                                   .state = job.replicas.front()->state,
                                   .metadata = job.checkpoint_metadata,
                                   .steps_per_epoch = job.plan.steps_per_epoch(),
                                   .keep = job.config.checkpoint.keep});
  const auto own = status();
  coordinator_ = spawn_role<CoordinatorState, coordinator_actor>(
      node_rows, CoordinatorSetup{.plan = job.plan,
                                  .first_step = job.first_step,
                                  .world_size = job.info.world_size,
                                  .learning_rate = job.learning_rate,
                                  .info = job.info,
                                  .history = job.history,
                                  .devices = own.devices,
                                  .nodes = {own},
                                  .checkpointer = checkpointer,
                                  .metrics = metrics_});
  self_->send(metrics_, atom::join_v, std::vector{own});
  const auto accumulate = static_cast<int>(job.config.train.accumulate);
  const auto loader = spawn_role<DataLoaderState, data_loader_actor>(
      node_rows, DataLoaderSetup{.replicas = job.replicas,
                                 .training = job.training,
                                 .evaluation = job.evaluation,
                                 .world_size = job.info.world_size,
                                 .accumulate = accumulate,
                                 .passes = job.plan.total_steps() * accumulate,
                                 .fillers = job.fillers,
                                 .coordinator = coordinator_});
  for (const auto& replica : job.replicas)
    spawn_replica(replica, loader);
}

void NodeState::spawn_replica(const std::shared_ptr<Replica>& replica,
                              const data_loader_actor& loader) {
  const auto& job = *job_;
  const auto rows = rank_rows(replica->rank);
  const auto compute = job.trace.track(rows, "compute");
  const bool shared = replica->communication == replica->compute;
  const auto first_pass = job.first_step * job.config.train.accumulate;
  const auto shard_manager = spawn_role<ShardManagerState, shard_manager_actor>(
      rows, ShardManagerSetup{
                .exchange = {.replica = replica,
                             .accumulate = job.config.train.accumulate,
                             .clip_norm = job.config.train.clip_grad_norm,
                             .loss_scale = job.loss_scale,
                             .optimizer = job.optimizer,
                             .row = shared ? compute : job.trace.track(rows, "communication")},
                .first_pass = first_pass,
                .coordinator = coordinator_});
  spawn_role<WorkerState, worker_actor>(
      rows,
      WorkerSetup{.replica = replica,
                  .accumulate = job.config.train.accumulate,
                  .first_pass = first_pass,
                  .test_batches = job.evaluation ? job.evaluation->sampler().steps_per_epoch() : 0,
                  .scales_loss = job.loss_scale.has_value(),
                  .precision = job.precision,
                  .loader = loader,
                  .shard_manager = shard_manager,
                  .coordinator = coordinator_,
                  .stream_row = compute});
}

NodeStatus NodeState::status() const {
  NodeStatus own{.name = job_->info.host,
                 .address = job_->address,
                 .metrics = job_->metrics_address,
                 .version = job_->info.version,
                 .state = "active"};
  for (const auto& replica : job_->replicas) {
    own.devices.push_back(replica->device->info().name);
    own.ranks.push_back(replica->rank);
  }
  return own;
}

void NodeState::stop() {
  self_->send(coordinator_, atom::stop_v);
  stopped_();
}

void NodeState::role_down(const caf::down_msg& down) {
  const auto died =
      std::ranges::find_if(roles_, [&](const auto& role) { return role.address() == down.source; });
  if (died == roles_.end() || down.reason == caf::exit_reason::user_shutdown)
    return;
  self_->send(coordinator_, atom::failed_v,
              Error{Errc::internal,
                    "an actor died: " + caf::to_string(down.reason),
                    {.node = job_->info.host}});
}

void NodeState::end_roles() {
  for (const auto& role : roles_)
    self_->send_exit(role, caf::exit_reason::user_shutdown);
  roles_.clear();
}

} // namespace troupe::actors
