#include "node.hpp"

#include "checkpointer.hpp"
#include "coordinator.hpp"
#include "data_loader.hpp"
#include "shard_manager.hpp"
#include "traced.hpp"
#include "worker.hpp"

#include <algorithm>

namespace troupe::actors {

node_actor::behavior_type NodeState::make_behavior() {
  self_->set_down_handler([this](const caf::down_msg& message) { down(message); });
  self_->set_exit_handler([this](const caf::exit_msg& exit) {
    end_roles();
    self_->quit(exit.reason);
  });
  return traced<node_actor>(
      setup_.row, [this](atom::join) { return membership(); },
      [this](atom::join, const membership_actor& membership, const NodeInfo& info) {
        return take_part(membership, info);
      },
      [this](atom::run, const RunOrderPtr& order) { return run(order); },
      [this](atom::finish, const JobEnd& end) { finish(end); }, [this](atom::stop) { stop(); },
      [this](atom::status) { return status(); });
}

caf::result<membership_actor> NodeState::membership() const {
  if (membership_)
    return membership_;
  return caf::make_error(caf::sec::runtime_error, "this daemon has not found a job yet");
}

caf::result<engine::Seat, store_actor> NodeState::take_part(const membership_actor& membership,
                                                            const NodeInfo& info) {
  membership_ = membership;
  lost_.watch(membership_);
  seat_ = self_->make_response_promise<engine::Seat, store_actor>();
  self_->request(membership_, caf::infinite, atom::join_v, info, member_actor{node_actor{self_}})
      .then(
          [this, asked = seat_](const engine::Seat& seat, const store_actor& store) mutable {
            if (seat.refused)
              leave();
            asked.deliver(seat, store);
          },
          [asked = seat_](const caf::error& error) mutable { asked.deliver(error); });
  return seat_;
}

/// What becomes of that job is no longer this node's affair: it may ask for a seat again.
void NodeState::leave() {
  if (membership_)
    self_->demonitor(membership_);
  membership_ = nullptr;
}

caf::result<RunOutcomePtr> NodeState::run(const RunOrderPtr& order) {
  order_ = order;
  outcome_ = self_->make_response_promise<RunOutcomePtr>();
  if (end_)
    tell_outcome(*end_);
  else if (order->job->seat.leads())
    lead();
  else
    follow();
  return outcome_;
}

void NodeState::lead() {
  const auto& job = *order_->job;
  const auto& state = *job.replicas.front()->state;
  coordinator_ = spawn_role<CoordinatorState, coordinator_actor>(
      engine::node_rows,
      CoordinatorSetup{.plan = job.plan,
                       .first_step = job.first_step,
                       .generation = job.seat.generation,
                       .samples = job.training->dataset().size(),
                       .data = job.data_fingerprint,
                       .detection = job.config.cluster.timeouts.detection,
                       .learning_rate = job.learning_rate,
                       .info = job.info,
                       .history = job.history,
                       .pieces = state.saved().size(),
                       .parameter_pieces = engine::count_parameter_pieces(state.saved()),
                       .checkpointer = spawn_checkpointer(),
                       .metrics = order_->metrics});
  spawn_workers();
  if (membership_)
    self_->send(membership_, atom::lead_v, coordinator_);
  if (stopping_)
    self_->send(coordinator_, atom::stop_v);
  self_->request(coordinator_, caf::infinite, atom::run_v)
      .then([this](const RunOutcomePtr& outcome) { ended(outcome); },
            [this](const caf::error& error) { lost_coordinator(error); });
}

void NodeState::lost_coordinator(const caf::error& error) {
  if (membership_) // the others would wait for an end that nobody tells them
    self_->send(
        membership_, atom::finish_v,
        JobEnd{.status = "failed",
               .error = Error{Errc::internal, "the coordinator died: " + caf::to_string(error)}});
  outcome_.deliver(error);
}

void NodeState::follow() {
  self_->request(membership_, caf::infinite, atom::lead_v)
      .then(
          [this](const coordinator_actor& coordinator) {
            coordinator_ = coordinator;
            spawn_workers();
          },
          [this](const caf::error& error) { outcome_.deliver(error); });
}

template <class State, class Handle, caf::spawn_options Options, class Setup>
Handle NodeState::spawn_role(std::string_view group, Setup setup) {
  // Monitored, not linked: a role that dies ends the job with a message, not the node.
  setup.row = order_->job->trace.track(group, State::name);
  auto role =
      self_->spawn<typename Handle::template stateful_impl<State>, Options + caf::monitored>(
          std::move(setup));
  roles_.push_back(caf::actor_cast<caf::actor>(role));
  return role;
}

checkpointer_actor NodeState::spawn_checkpointer() {
  const auto& job = *order_->job;
  return spawn_role<CheckpointerState, checkpointer_actor, caf::detached>(
      engine::node_rows, CheckpointerSetup{.store = job.checkpoints(),
                                           .state = job.replicas.front()->state,
                                           .metadata = job.checkpoint_metadata,
                                           .steps_per_epoch = job.plan.steps_per_epoch(),
                                           .keep = job.config.checkpoint.keep});
}

void NodeState::spawn_workers() {
  const auto& job = *order_->job;
  const auto accumulate = static_cast<int>(job.config.train.accumulate);
  const auto loader = spawn_role<DataLoaderState, data_loader_actor>(
      engine::node_rows, DataLoaderSetup{.replicas = job.replicas,
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

void NodeState::spawn_replica(const std::shared_ptr<engine::Replica>& replica,
                              const data_loader_actor& loader) {
  const auto& job = *order_->job;
  const auto rows = engine::rank_rows(replica->rank);
  const auto compute = job.trace.track(rows, "compute");
  const bool shared = replica->communication == replica->compute;
  engine::HostOptimizerRows host_rows;
  if (replica->host)
    host_rows = {job.trace.track(rows, "copies"), job.trace.track(rows, "host optimizer")};
  const auto first_pass = job.first_step * job.config.train.accumulate;
  const auto shard_manager = spawn_role<ShardManagerState, shard_manager_actor>(
      rows, ShardManagerSetup{
                .exchange = {.replica = replica,
                             .accumulate = job.config.train.accumulate,
                             .clip_norm = job.config.train.clip_grad_norm,
                             .loss_scale = job.loss_scale,
                             .optimizer = job.optimizer,
                             .row = shared ? compute : job.trace.track(rows, "communication"),
                             .host_rows = std::move(host_rows)},
                .first_pass = first_pass,
                .coordinator = coordinator_});
  const auto worker = spawn_role<WorkerState, worker_actor>(
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
  self_->send(coordinator_, atom::join_v,
              RankInfo{.rank = replica->rank,
                       .metrics = order_->metrics_address,
                       .device = replica->device->info().name,
                       .samples = job.training->dataset().size(),
                       .data = job.data_fingerprint},
              worker, shard_manager, order_->metrics);
}

void NodeState::down(const caf::down_msg& down) {
  if (membership_ && down.source == membership_.address())
    return lost_leader(down.reason);
  const auto died =
      std::ranges::find_if(roles_, [&](const auto& role) { return role.address() == down.source; });
  if (died == roles_.end() || down.reason == caf::exit_reason::user_shutdown)
    return;
  self_->send(coordinator_, atom::failed_v,
              Error{Errc::internal,
                    "an actor died: " + caf::to_string(down.reason),
                    {.node = order_->job->info.host}});
}

/// Whether it is still waited for, or trains.
void NodeState::lost_leader(const caf::error& reason) {
  const Error error{Errc::network, "the node that leads the job is gone: " +
                                       lost_.why(membership_.node(), reason)};
  if (!seat_.pending())
    return finish({.status = "failed", .error = error});
  leave();
  seat_.deliver(engine::Seat{.refused = error}, store_actor{});
}

void NodeState::ended(const RunOutcomePtr& outcome) {
  if (!membership_)
    return outcome_.deliver(outcome);
  const auto& summary = outcome->summary;
  // This daemon may go once the others know: they would take its end for a failure.
  const auto answer = [this, outcome] { outcome_.deliver(RunOutcomePtr{outcome}); };
  self_
      ->request(membership_, caf::infinite, atom::finish_v,
                JobEnd{.status = summary.status,
                       .error = outcome->error,
                       .steps = summary.steps,
                       .epochs = summary.epochs,
                       .seconds = summary.seconds,
                       .samples_per_second = summary.samples_per_second,
                       .loss = summary.loss,
                       .accuracy = summary.accuracy,
                       .parameters_sha256 = summary.parameters_sha256})
      .then(answer, [answer](const caf::error&) { answer(); });
}

void NodeState::finish(const JobEnd& end) {
  if (order_ && order_->job->seat.leads() && coordinator_)
    return; // this end is its COORDINATOR's
  if (end_)
    return; // what is lost after the end was needed no more
  end_ = end;
  if (order_)
    tell_outcome(end);
}

void NodeState::tell_outcome(const JobEnd& end) {
  RunOutcome outcome{.summary = {order_->job->info}, .error = end.error};
  outcome.summary.status = end.status;
  outcome.summary.steps = end.steps;
  outcome.summary.epochs = end.epochs;
  outcome.summary.seconds = end.seconds;
  outcome.summary.samples_per_second = end.samples_per_second;
  outcome.summary.loss = end.loss;
  outcome.summary.accuracy = end.accuracy;
  outcome.summary.parameters_sha256 = end.parameters_sha256;
  if (end.error)
    outcome.summary.error = end.error->to_string();
  const RunOutcomePtr shared = std::make_shared<const RunOutcome>(std::move(outcome));
  const auto answer = [this](const RunOutcomePtr& ended) { outcome_.deliver(ended); };
  self_->request(order_->metrics, caf::infinite, atom::finish_v, shared)
      .then(answer, [answer, shared](const caf::error&) { answer(shared); });
}

void NodeState::stop() {
  stopping_ = true;
  if (membership_)
    self_->send(membership_, atom::stop_v);
  else if (coordinator_)
    self_->send(coordinator_, atom::stop_v);
  setup_.stopped();
}

caf::result<JobStatus> NodeState::status() {
  if (coordinator_)
    return self_->delegate(coordinator_, atom::status_v);
  auto promise = self_->make_response_promise<JobStatus>();
  if (!membership_) {
    promise.deliver(JobStatus{.name = setup_.run, .phase = "starting"});
    return promise;
  }
  self_->request(membership_, caf::infinite, atom::status_v)
      .then(
          [promise, name = setup_.run](const std::string& waiting) mutable {
            promise.deliver(
                JobStatus{.name = name, .phase = waiting.empty() ? "starting" : waiting});
          },
          [promise](const caf::error& error) mutable { promise.deliver(error); });
  return promise;
}

void NodeState::end_roles() {
  for (const auto& role : roles_)
    self_->send_exit(role, caf::exit_reason::user_shutdown);
  roles_.clear();
}

} // namespace troupe::actors
