#include "shard_manager.hpp"

#include "traced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace troupe::actors {

namespace {

/// The part of [begin, end] that lies in [from, to].
std::chrono::nanoseconds common_part(std::chrono::nanoseconds begin, std::chrono::nanoseconds end,
                                     std::chrono::nanoseconds from, std::chrono::nanoseconds to) {
  return std::max(std::chrono::nanoseconds{0}, std::min(end, to) - std::max(begin, from));
}

} // namespace

ShardManagerState::ShardManagerState(shard_manager_actor::pointer self, ShardManagerSetup setup)
    : self_{self}, setup_{std::move(setup)}, buckets_{collectives::plan_buckets(
                                                 setup_.replica->state->layout().unit_elements,
                                                 setup_.bucket_bytes)},
      done_passes_{setup_.first_pass} {}

shard_manager_actor::behavior_type ShardManagerState::make_behavior() {
  return traced<shard_manager_actor>(
      setup_.row, [this](atom::join, const worker_actor& worker) { worker_ = worker; },
      [this](atom::need_parameters, Pass pass, UnitId unit) { need_parameters(pass, unit); },
      [this](atom::gradients_ready, Pass pass, UnitId unit, const EventPtr& event) {
        gradients_ready(pass, unit, event);
      },
      [this](atom::done, const WorkerStep& worker) {
        flights_[worker.step].worker = worker;
        commit_if_done(worker.step);
      },
      [this](atom::done, std::int64_t step) {
        flights_[step].applied = true;
        commit_if_done(step);
      },
      [this](atom::failed, Error error) { fail(std::move(error)); },
      [this](atom::evaluate, std::int64_t step) { evaluate(step); },
      [this](atom::snapshot, std::int64_t step) { return snapshot(step); },
      [this](atom::saved, std::int64_t step) { deliver_snapshot(step); });
}

void ShardManagerState::need_parameters(Pass pass, UnitId unit) {
  requests_.push_back({pass, unit});
  answer_requests();
}

void ShardManagerState::answer_requests() {
  // Every rank holds all parameters: they are there once the pass before has been dealt with.
  const auto waits = [this](const Request& request) { return request.pass > done_passes_; };
  for (const auto& request : requests_)
    if (!waits(request))
      self_->send(worker_, atom::parameters_ready_v, request.pass, request.unit, parameters_event_);
  std::erase_if(requests_, std::not_fn(waits));
}

void ShardManagerState::gradients_ready(Pass pass, UnitId unit, const EventPtr& event) {
  if (units_left_ == 0)
    units_left_ = static_cast<UnitId>(setup_.replica->state->layout().unit_elements.size());
  setup_.replica->communication->wait(event);
  if (setup_.accumulate > 1)
    accumulate(pass, unit);
  if (last_of_step(pass) && buckets_[open_bucket_].first == unit)
    reduce(buckets_[open_bucket_++], flights_[pass / setup_.accumulate]);
  if (--units_left_ == 0)
    finish_pass(pass);
}

void ShardManagerState::accumulate(Pass pass, UnitId unit) {
  const auto& [rank, device, state, train, evaluate, communicator, compute, communication] =
      *setup_.replica;
  const auto offset = state->unit_offset(unit);
  const auto elements = state->layout().unit_elements[static_cast<std::size_t>(unit)];
  float* const fresh = state->gradients() + offset;
  float* const sum = state->accumulated() + offset;
  if (pass % setup_.accumulate == 0)
    return device->copy(*communication, sum, fresh, elements * sizeof(float));
  float* const target = last_of_step(pass) ? fresh : sum;
  device->add(*communication, target, last_of_step(pass) ? sum : fresh, elements);
  device->round(*communication, target, state->stored(), elements);
}

void ShardManagerState::reduce(const collectives::Bucket& bucket, Flight& flight) {
  auto& replica = *setup_.replica;
  if (replica.communicator->world_size() == 1)
    return;
  const auto before = replica.communicator->traffic().bytes;
  auto begin = replica.communication->record();
  float* const gradients = replica.state->gradients() + bucket.offset;
  {
    const auto span =
        setup_.stream_row.span(*replica.communication,
                               {metrics::SpanKind::collective, "all_reduce", "",
                                done_passes_ / setup_.accumulate, bucket.elements * sizeof(float)});
    replica.communicator->all_reduce(*replica.communication, {gradients, bucket.elements});
  }
  replica.device->round(*replica.communication, gradients, replica.state->stored(),
                        bucket.elements);
  flight.collectives.emplace_back(std::move(begin), replica.communication->record());
  flight.bytes += replica.communicator->traffic().bytes - before;
}

void ShardManagerState::finish_pass(Pass pass) {
  if (last_of_step(pass)) {
    open_bucket_ = 0;
    apply_optimizer(pass / setup_.accumulate);
  }
  parameters_event_ = setup_.replica->communication->record();
  done_passes_ = pass + 1;
  answer_requests();
}

void ShardManagerState::apply_optimizer(std::int64_t step) {
  auto& replica = *setup_.replica;
  auto& state = *replica.state;
  auto arguments = setup_.optimizer(step);
  const auto parts = static_cast<double>(replica.communicator->world_size() * setup_.accumulate);
  arguments.gradient_scale = static_cast<float>(1.0 / parts);
  auto& stream = *replica.communication;
  const auto span =
      setup_.stream_row.span(stream, {metrics::SpanKind::optimizer, "optimizer", "", step});
  auto* const scaler = state.loss_scale();
  // Sums of all ranks: what one rank has that is not finite, all find.
  if (scaler)
    replica.device->check_finite(stream, state.gradients(), state.elements(), &scaler->found_inf);
  if (setup_.clip_norm) {
    // All ranks hold the same sums, so all find the same norm.
    replica.device->squared_norm(stream, arguments, state.gradients(), state.elements(),
                                 state.squared_norm(), scaler);
    replica.device->clip_factor(stream, state.squared_norm(), static_cast<float>(*setup_.clip_norm),
                                state.clip_factor());
  }
  replica.device->optimizer_step(stream, arguments,
                                 {state.parameters(), state.gradients(), state.optimizer(0),
                                  state.optimizer(1), state.elements()},
                                 setup_.clip_norm ? state.clip_factor() : nullptr, scaler);
  if (scaler)
    end_scaled_step(step);
  announce(atom::done_v, step);
}

void ShardManagerState::end_scaled_step(std::int64_t step) {
  auto& replica = *setup_.replica;
  auto& stream = *replica.communication;
  replica.device->update_loss_scale(stream, *setup_.loss_scale, replica.state->loss_scale());
  replica.device->copy(stream, &flights_[step].scaler, replica.state->loss_scale(),
                       sizeof(LossScaleState));
}

template <class Atom>
void ShardManagerState::announce(Atom atom, std::int64_t step) {
  setup_.replica->communication->on_complete(
      [me = shard_manager_actor{self_}, atom, step](const Status& status) {
        if (status)
          caf::anon_send(me, atom, step);
        else
          caf::anon_send(me, atom::failed_v, status.error());
      });
}

void ShardManagerState::commit_if_done(std::int64_t step) {
  const auto& flight = flights_[step];
  if (!flight.applied || !flight.worker)
    return;
  if (const auto sound = check_loss(flight); !sound)
    return fail(sound.error());
  StepReport report{
      .rank = setup_.replica->rank, .worker = *flight.worker, .collective_bytes = flight.bytes};
  for (const auto& [begin, end] : flight.collectives) {
    report.collective += end->time() - begin->time();
    report.overlapped +=
        common_part(begin->time(), end->time(), report.worker.begin, report.worker.end);
  }
  report.memory = setup_.replica->device->memory();
  if (setup_.replica->state->loss_scale()) {
    report.loss_scale = flight.scaler.scale;
    report.skipped_steps = flight.scaler.skipped;
    report.scale_growths = flight.scaler.grown;
  }
  flights_.erase(step);
  self_->send(setup_.coordinator, atom::step_committed_v, report);
}

/// A scaled loss that is not finite is a step to skip while a smaller scale may help.
Status ShardManagerState::check_loss(const Flight& flight) const {
  if (std::isfinite(flight.worker->loss) || flight.scaler.scale >= 1)
    return {};
  return failure(Error{Errc::numeric,
                       fmt::format("the loss is {}, and the loss scale has fallen to {}",
                                   flight.worker->loss, flight.scaler.scale),
                       {.step = flight.worker->step}});
}

void ShardManagerState::evaluate(std::int64_t step) {
  auto& replica = *setup_.replica;
  // As in DistributedDataParallel, rank 0's statistics count.
  replica.communicator->broadcast(
      *replica.communication,
      {replica.state->statistics(), replica.state->layout().statistic_elements}, 0);
  self_->send(worker_, atom::evaluate_v, step, replica.communication->record());
}

caf::result<SnapshotPtr> ShardManagerState::snapshot(std::int64_t step) {
  auto copy = std::make_shared<Snapshot>();
  copy->step = step;
  setup_.replica->state->copy_to(*setup_.replica->communication, *copy);
  auto promise = self_->make_response_promise<SnapshotPtr>();
  copies_[step] = {copy, promise};
  announce(atom::saved_v, step);
  return promise;
}

void ShardManagerState::deliver_snapshot(std::int64_t step) {
  auto node = copies_.extract(step);
  node.mapped().promise.deliver(SnapshotPtr{node.mapped().snapshot});
}

void ShardManagerState::fail(Error error) {
  error.where.actor = name;
  error.where.rank = setup_.replica->rank;
  if (error.where.step < 0)
    error.where.step = done_passes_ / setup_.accumulate;
  self_->send(setup_.coordinator, atom::failed_v, std::move(error));
}

} // namespace troupe::actors
