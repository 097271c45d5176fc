#include "actors/roles/async_shard_manager.hpp"

#include "actors/roles/detail/step_summary.hpp"
#include "core/fail.hpp"

namespace troupe::actors {

using collectives::Message;
using collectives::MessagePtr;
using metrics::CollectiveKind;
using training::MessageKind;

AsyncShardManagerState::AsyncShardManagerState(parameter_server_actor::pointer self,
                                               AsyncShardManagerSetup setup)
    : ShardManagerBase{self, setup.rank_state, setup.others}, self_{self}, setup_{std::move(setup)},
      owner_{setup_.owner}, reader_{setup_.rank_state, setup_.point_to_point},
      rules_{training::message_rules(state(), slice_assignment().slices(), owner_->published())} {}

parameter_server_actor::behavior_type AsyncShardManagerState::make_behavior() {
  subscribe(*setup_.point_to_point);
  return behavior<parameter_server_actor>(
      setup_.row,
      [this](atom::done, const WorkerStep& slice, const SpansPtr&) {
        measured_[slice.step].add(slice);
      },
      [this](atom::decided, std::int64_t step, const training::StepResults& of_all) {
        prepare(step, of_all);
      },
      [this](atom::advance, std::int64_t step) { apply(step); },
      [this](atom::evaluate, std::int64_t steps) {
        evaluated_ = steps;
        begin_evaluation(steps);
      },
      [this](atom::abort, const Error& reason) { return abort(reason); });
}

/// Copies the version that the last pass read.
training::StateCopier AsyncShardManagerState::copier(std::int64_t steps) {
  take_rest(steps);
  return {state(), *rank_state().communication, rank_state().shard_group.get()};
}

void AsyncShardManagerState::send(Message message, int to) {
  message.from = rank_state().rank;
  message.to = to;
  setup_.point_to_point->send(std::move(message));
}

/// Reads the parameters once for a whole pass, for all buckets together.
void AsyncShardManagerState::answer_requests() {
  while (!requests().empty()) {
    const auto& request = requests().front();
    const bool trains = request.pass_mode == PassMode::training;
    if (const Reading needed{request.pass_mode, trains ? request.index : evaluated_};
        reading_ != needed)
      return begin_reading(needed);
    if (!asked_.empty())
      return;
    // Backward writes where the gradients of the last pass were read.
    self_->send(worker(), atom::parameters_ready_v, request,
                request.phase == Phase::forward ? read_ : rank_state().communication->record());
    requests().pop_front();
  }
}

/// All requests of the last pass are answered, and its gradients are still to come. Work enqueued
/// now runs after it, because WORKER enqueues one pass after the other.
void AsyncShardManagerState::begin_reading(const Reading& next) {
  if (!asked_.empty())
    return;
  reading_ = next;
  const auto wanted =
      next.pass_mode == PassMode::training ? slice_assignment().step_of(next.index) : next.index;
  for (int owner = 0; owner < ranks(); ++owner) {
    asked_.insert(owner);
    send(training::Pull{.have = reader_.read(owner), .wanted = wanted}.to_message(), owner);
  }
}

void AsyncShardManagerState::take_parameters(const MessagePtr& message) {
  reader_.take(message);
  asked_.erase(message->from);
  if (!asked_.empty())
    return;
  take_rest(owner_->published());
  read_ = rank_state().communication->record();
  answer_requests();
}

void AsyncShardManagerState::take_rest(training::Version version) {
  if (const auto taken = reader_.take_rest(version, owner_->scale()); !taken)
    fail(taken.error());
}

void AsyncShardManagerState::gradients_ready(Pass pass, UnitId unit, const EventPtr& event) {
  rank_state().communication->wait(event);
  const data::WorkItem item{slice_assignment().step_of(pass), slice_assignment().place(pass),
                            rank_state().rank};
  const auto number = state().layout().plan().bucket_of[static_cast<std::size_t>(unit)];
  const auto& bucket = state().layout().plan().buckets[number];
  const auto count_given = [this](CollectiveKind kind, const Result<std::uint64_t>& bytes) {
    bytes ? count(kind, *bytes) : fail(bytes.error());
  };
  if (unit == bucket.units.first && !state().layout().is_frozen(bucket))
    count_given(CollectiveKind::reduce_scatter, reader_.give(bucket, number, item));
  if (unit == 0 && item.slice == 0 && state().statistics().commits())
    count_given(CollectiveKind::broadcast, reader_.give_statistics(item.step));
}

void AsyncShardManagerState::deliver(const MessagePtr& message) {
  if (const auto fits = check(*message); !fits)
    return fail(fits.error());
  switch (training::kind_of(*message)) {
  case MessageKind::pull:
    return answer_pull(*message);
  case MessageKind::parameters:
    return take_parameters(message);
  case MessageKind::gradients:
    owner_->add(message);
    return go_on();
  case MessageKind::statistics:
    return take_statistics(message);
  case MessageKind::copy:
    replicated_[training::step_of(*message)] = message;
    return go_on();
  }
}

Status AsyncShardManagerState::check(const Message& message) const {
  TROUPE_TRY(training::check_message(
      message, rules_,
      {.version = owner_->version(), .published = owner_->published(), .read = reader_.read()}));
  if (awaits(message))
    return {};
  return failure(training::wrong_message(message, "that are not expected now"));
}

/// Whether a message that may come at this time has not come yet.
bool AsyncShardManagerState::awaits(const Message& message) const {
  switch (training::kind_of(message)) {
  case MessageKind::pull:
    return true;
  case MessageKind::parameters:
    return asked_.contains(message.from);
  case MessageKind::gradients:
    return !owner_->has(training::Gradients::of(message));
  case MessageKind::statistics:
    return !statistics_.contains(training::step_of(message));
  case MessageKind::copy:
    return !replicated_.contains(training::step_of(message));
  }
  return false;
}

void AsyncShardManagerState::answer_pull(const Message& pull) {
  const auto asked = training::Pull::of(pull);
  const auto at = owner_->version_for(asked.wanted);
  auto answer = training::Parameters{at}.to_message();
  if (asked.have == at)
    return send(std::move(answer), pull.from);
  auto values = owner_->parameters(at);
  if (!values)
    return fail(values.error());
  answer.values = *std::move(values);
  answer.bytes = answer.values->bytes();
  if (pull.from != rank_state().rank)
    count(CollectiveKind::all_gather, answer.bytes);
  if (at.predicted == 0)
    return send(std::move(answer), pull.from);
  send_when_copied(std::move(answer), pull.from);
}

void AsyncShardManagerState::take_statistics(const MessagePtr& message) {
  const auto step = training::step_of(*message);
  rank_state().device().copy(owner_->stream(), state().statistics().committed(step),
                             message->values->data(), message->bytes);
  owner_->stream().on_complete(
      [message](const Status&) {}); // keeps it alive until the copy is done
  statistics_.insert(step);
  go_on();
}

void AsyncShardManagerState::go_on() {
  const auto step = owner_->version();
  const bool has_statistics = !state().statistics().commits() || statistics_.contains(step);
  if (stage_ == Stage::summing && owner_->is_whole() && has_statistics)
    take();
  if (stage_ == Stage::taken && (!state().shard_replica() || replicated_.contains(step)))
    find();
}

void AsyncShardManagerState::take() {
  stage_ = Stage::taken;
  statistics_.erase(owner_->version());
  owner_->take();
  if (!setup_.replica_rank)
    return;
  auto values = owner_->copy_of_gradients();
  if (!values)
    return fail(values.error());
  auto message = training::message_of_step(MessageKind::copy, owner_->version());
  message.values = *std::move(values);
  message.bytes = message.values->bytes();
  count(CollectiveKind::shard_replica, message.bytes);
  send_when_copied(std::move(message), *setup_.replica_rank);
}

/// Sends it when the owner's stream has come this far.
void AsyncShardManagerState::send_when_copied(Message message, int to) {
  message.from = rank_state().rank;
  message.to = to;
  owner_->stream().on_complete([point_to_point = setup_.point_to_point,
                                message = std::move(message)](const Status& status) mutable {
    if (status)
      point_to_point->send(std::move(message));
  });
}

void AsyncShardManagerState::find() {
  stage_ = Stage::finding;
  if (const auto replicated = replicated_.extract(owner_->version()))
    owner_->keep_replica(replicated.mapped());
  found_ = std::make_shared<training::StepResults>();
  if (!owner_->finds())
    return prepare(owner_->version(), {}); // no rank proposes results
  owner_->find(found_.get());
  when_done(owner_->stream(),
            [coordinator = coordinator(), rank = rank_state().rank, step = owner_->version(),
             found = found_] { caf::anon_send(coordinator, atom::propose_v, rank, step, *found); });
}

/// Votes for the step when it is prepared: from then on, applying it cannot fail.
void AsyncShardManagerState::prepare(std::int64_t step, const training::StepResults& of_all) {
  stage_ = Stage::preparing;
  of_all_ = std::make_shared<training::StepResults>(of_all);
  owner_->prepare(of_all_.get());
  when_done(owner_->stream(),
            [coordinator = coordinator(), rank = rank_state().rank, step, kept = of_all_] {
              caf::anon_send(coordinator, atom::vote_v, rank, step);
            });
}

void AsyncShardManagerState::apply(std::int64_t step) {
  stage_ = Stage::applying;
  auto reads = owner_->apply(found_);
  if (!reads)
    return fail(reads.error());
  reads_ = *std::move(reads);
  announce(owner_->stream(), found_, [this, step] { finish_step(step); });
}

void AsyncShardManagerState::finish_step(std::int64_t step) {
  owner_->settle();
  // With a scaled loss, a step with gradients that are not finite is skipped while the scale can
  // still be lowered.
  if (const auto scale = owner_->scale(); !(scale >= 1)) // also true for NaN
    return fail(
        {Errc::numeric,
         fmt::format("gradients are not finite, and the loss scale has fallen to {}", scale)});
  rank_state().before.reset(); // all have come this far
  stage_ = Stage::summing;
  self_->send(coordinator(), atom::step_committed_v, report_of(step));
  sent_ = {};
  go_on();
}

StepReport AsyncShardManagerState::report_of(std::int64_t step) {
  // Empty if the rank has computed no slice of the step.
  const auto measured = measured_.extract(step);
  StepReport report{.rank = rank_state().rank,
                    .worker = measured ? measured.mapped() : WorkerStep{},
                    .collectives = sent_};
  report.worker.step = step;
  report.memory = rank_state().device().memory();
  report.squared_norm = of_all_->squared_norm;
  report.reads = reads_;
  if (state().loss_scale())
    report.loss_scaling = loss_scaling_of(found_->loss_scale);
  return report;
}

caf::result<void> AsyncShardManagerState::abort(const Error& reason) {
  rank_state().abort(reason);
  rank_state().communication->wait(owner_->stream().record());
  return when_drained(*rank_state().communication);
}

} // namespace troupe::actors
