#include "actors/roles/shard_manager.hpp"

#include "actors/roles/detail/step_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace troupe::actors {

namespace {

/// Returns how much of [begin, end] the spans cover. Precondition: the spans do not overlap.
std::chrono::nanoseconds covered(const std::vector<Span>& spans, std::chrono::nanoseconds begin,
                                 std::chrono::nanoseconds end) {
  std::chrono::nanoseconds sum{};
  for (const auto& [from, to] : spans)
    sum += std::max(std::chrono::nanoseconds{0}, std::min(end, to) - std::max(begin, from));
  return sum;
}

/// Joins overlapping spans.
std::vector<Span> merged(std::vector<Span> spans) {
  std::ranges::sort(spans);
  std::vector<Span> all;
  for (const auto& [begin, end] : spans)
    if (all.empty() || begin > all.back().second)
      all.emplace_back(begin, end);
    else
      all.back().second = std::max(all.back().second, end);
  return all;
}

/// Returns the optimizer's time during which the rank neither computed nor communicated.
std::chrono::nanoseconds bare_updates(const training::StepWork& done,
                                      const std::vector<Span>& computing) {
  auto busy = computing;
  for (const auto& each : done.done)
    busy.emplace_back(each.begin->time(), each.end->time());
  busy = merged(std::move(busy));
  std::chrono::nanoseconds sum{};
  for (const auto& [begin, end] : done.updates)
    sum += end->time() - begin->time() - covered(busy, begin->time(), end->time());
  return sum;
}

bool reached(const EventPtr& event) {
  return event->ready() && event->status();
}

} // namespace

ShardManagerState::ShardManagerState(synchronous_shard_manager_actor::pointer self,
                                     ShardManagerSetup setup)
    : ShardManagerBase{self, setup.reducer.rank_state, setup.others}, self_{self},
      setup_{std::move(setup)}, reducer_{setup_.reducer}, pass_{setup_.first_pass},
      gathered_(reducer_.plan().buckets.size(), false) {
  if (setup_.replica_groups)
    rounds_.emplace(*setup_.replica_groups,
                    [this](std::chrono::milliseconds time, std::function<Status()> then) {
                      self_->run_delayed(time, [this, then = std::move(then)] {
                        if (const auto done = then(); !done)
                          fail(done.error());
                      });
                    });
}

synchronous_shard_manager_actor::behavior_type ShardManagerState::make_behavior() {
  if (rounds_)
    subscribe(*setup_.replica_groups->point_to_point);
  return behavior<synchronous_shard_manager_actor>(
      setup_.row,
      [this](atom::released, const ParameterRequest& request, const EventPtr& event) {
        released(request, event);
      },
      [this](atom::done, const WorkerStep& worker, const SpansPtr& computing) {
        in_flight_[worker.step].worker = worker;
        in_flight_[worker.step].computing = computing;
        commit_if_done(worker.step);
      },
      [this](atom::assign, const data::SliceAssignment& next) { reducer_.assign(next); },
      [this](atom::synchronize, std::int64_t steps) { return synchronize(steps); },
      [this](atom::evaluate, std::int64_t steps) {
        reducer_.share_statistics();
        begin_evaluation(steps);
      },
      [this](atom::abort, const Error& reason) { return abort(reason); });
}

caf::result<void> ShardManagerState::abort(const Error& reason) {
  rank_state().abort(reason);
  if (rounds_ && setup_.replica_groups->sum)
    reducer_.last_stream().wait(setup_.replica_groups->sum->stream().record());
  return when_drained(reducer_.last_stream());
}

void ShardManagerState::answer_requests() {
  for (; !requests().empty() && admit(requests().front()); requests().pop_front())
    self_->send(worker(), atom::parameters_ready_v, requests().front(),
                event_for(requests().front()));
}

bool ShardManagerState::takes_place(const ParameterRequest& request) const {
  return request.phase == Phase::forward
             ? strategy().divides_parameters && strategy().reshard_after_forward
             : strategy().divides_gradients;
}

bool ShardManagerState::admit(const ParameterRequest& request) {
  if (rounds_ && request.pass_mode == PassMode::training &&
      !begins(slice_assignment().step_of(request.index)))
    return false;
  const auto bucket = bucket_of(request.unit);
  if (!takes_place(request)) {
    if (strategy().divides_parameters && !gathered_[bucket])
      gather(request, bucket);
    return true;
  }
  if (is_open(request, bucket))
    return true;
  // Backward must not gather into memory that forward still reads.
  if (open_.size() == strategy().alive || std::ranges::count(open_, bucket) > 0)
    return false;
  open(request, bucket);
  return true;
}

/// The last bucket of forward is the first of backward, and stays open in between.
bool ShardManagerState::is_open(const ParameterRequest& request, std::size_t bucket) const {
  return opened_ && opened_->bucket == bucket && opened_->request.pass_mode == request.pass_mode &&
         opened_->request.index == request.index;
}

void ShardManagerState::open(const ParameterRequest& request, std::size_t bucket) {
  open_.push_back(bucket);
  const bool gathers = strategy().divides_parameters && strategy().reshard_after_forward &&
                       (request.phase == Phase::forward ||
                        rank_state().state->layout().has_backward(reducer_.plan().buckets[bucket]));
  if (gathers)
    gather(request, bucket);
  // A place for gradients is free when its last bucket is reduced. This does not wait for
  // parameters that are published after that.
  opened_ = {bucket, request,
             gathers || !last_reduced_ ? rank_state().communication->record() : last_reduced_};
}

void ShardManagerState::gather(const ParameterRequest& request, std::size_t bucket) {
  // The bucket that had this memory before is released by now.
  if (last_release_)
    rank_state().communication->wait(last_release_);
  training::StepWork of_no_step;
  reducer_.gather(reducer_.plan().buckets[bucket],
                  request.pass_mode == PassMode::training
                      ? work_of(slice_assignment().step_of(request.index))
                      : of_no_step);
  gathered_[bucket] = !strategy().reshard_after_forward;
}

/// Returns the work of a step in flight. The first call for a step makes its plan.
training::StepWork& ShardManagerState::work_of(std::int64_t step) {
  auto& work = in_flight_[step].work;
  if (work.plan.step < 0)
    work.plan = reducer_.step_plan(step);
  return work;
}

EventPtr ShardManagerState::event_for(const ParameterRequest& request) {
  if (takes_place(request))
    return opened_->event;
  // Backward writes where the gradients of the last pass were read.
  return request.phase == Phase::forward ? reducer_.ready(bucket_of(request.unit))
                                         : rank_state().communication->record();
}

void ShardManagerState::released(const ParameterRequest& request, const EventPtr& event) {
  const auto bucket = bucket_of(request.unit);
  const bool complete = request.unit == reducer_.plan().buckets[bucket].units.last;
  const bool turns = request.pass_mode == PassMode::training && bucket == 0; // to backward
  if (complete && !turns && takes_place(request))
    release(event);
  else if (complete)
    last_release_ = event;
  answer_requests();
}

void ShardManagerState::release(const EventPtr& event) {
  open_.pop_front();
  last_release_ = event;
}

void ShardManagerState::gradients_ready(Pass pass, UnitId unit, const EventPtr& event) {
  pass_ = pass;
  rank_state().communication->wait(event);
  const auto step = slice_assignment().step_of(pass);
  auto& work = work_of(step);
  reducer_.accumulate(unit, pass, work.plan);
  const auto& bucket = reducer_.plan().buckets[bucket_of(unit)];
  if (unit == bucket.units.first) {
    last_reduced_ = reducer_.finish_bucket(bucket, pass, work);
    if (strategy().divides_gradients)
      release(event);
  }
  if (unit == 0 && slice_assignment().ends_step(pass))
    finish_step(step);
  answer_requests();
}

void ShardManagerState::finish_step(std::int64_t step) {
  auto& work = work_of(step);
  const auto& found = in_flight_[step].found;
  reducer_.finish_step(found.get(), work);
  in_flight_[step].made = rank_state().communication->record();
  reducer_.publish_rest(work);
  gathered_.assign(gathered_.size(), false);
  if (rounds_)
    if (const auto ended = rounds_->end_step(step, weight()); !ended)
      fail(ended.error());
  announce(reducer_.last_stream(), found, [this, step] {
    in_flight_[step].applied = true;
    commit_if_done(step);
  });
}

void ShardManagerState::commit_if_done(std::int64_t step) {
  const auto& in_flight = in_flight_[step];
  if (!is_committed(in_flight))
    return;
  // With a scaled loss, a step whose loss is not finite is skipped while the scale can still be
  // lowered.
  const auto loss = in_flight.worker->loss;
  if (const auto scale = in_flight.found->loss_scale.scale; !std::isfinite(loss) && !(scale >= 1)) {
    self_->send(coordinator(), atom::failed_v, loss);
    return fail({Errc::numeric,
                 fmt::format("the loss is {}, and the loss scale has fallen to {}", loss, scale),
                 {.step = step}});
  }
  auto report = report_of(in_flight);
  add_round(report, in_flight);
  rank_state().before.reset(); // all have come this far
  in_flight_.erase(step);
  self_->send(coordinator(), atom::step_committed_v, report);
}

StepReport ShardManagerState::report_of(const InFlightStep& in_flight) const {
  StepReport report{.rank = rank_state().rank, .worker = *in_flight.worker};
  for (const auto& each : in_flight.work.done) {
    if (!reached(each.end)) // the communicator has failed since
      continue;
    auto& [bytes, time] = report.collectives[static_cast<std::size_t>(each.kind)];
    bytes += each.bytes;
    time += each.end->time() - each.begin->time();
    report.overlapped += covered(*in_flight.computing, each.begin->time(), each.end->time());
  }
  if (!failed_)
    report.optimizer = bare_updates(in_flight.work, *in_flight.computing);
  // Batch norms communicate within passes (ADR 0011).
  report.collectives[static_cast<std::size_t>(metrics::CollectiveKind::all_reduce)].bytes +=
      in_flight.worker->statistics_bytes;
  report.memory = rank_state().device().memory();
  report.squared_norm = in_flight.found->squared_norm;
  if (rank_state().state->loss_scale())
    report.loss_scaling = loss_scaling_of(in_flight.found->loss_scale);
  return report;
}

/// Adds the traffic of a round, and how far apart ranks were, if they do not synchronize in every
/// step.
void ShardManagerState::add_round(StepReport& report, const InFlightStep& in_flight) {
  const auto bytes_of = [&](metrics::CollectiveKind kind) -> std::uint64_t& {
    return report.collectives[static_cast<std::size_t>(kind)].bytes;
  };
  if (rounds_) {
    auto round = rounds_->take_report(report.worker.step);
    bytes_of(metrics::CollectiveKind::reduce_scatter) += round.changes;
    bytes_of(metrics::CollectiveKind::all_gather) += round.sums;
    report.round_bytes = round.changes + round.sums;
    report.drift = round.drift;
    report.rounds = std::move(round.taken);
  } else if (in_flight.found->square_of_mean > 0) {
    for (const auto& [bytes, time] : report.collectives)
      report.round_bytes += bytes;
    // The root mean square distance of the ranks from their mean, relative to the mean's norm.
    const auto& found = *in_flight.found;
    report.drift =
        std::sqrt(std::max(0.0, found.mean_square - found.square_of_mean) / found.square_of_mean);
  }
}

caf::result<void> ShardManagerState::synchronize(std::int64_t steps) {
  auto promise = self_->make_response_promise<void>();
  synchronization_ = Synchronization{steps, promise};
  synchronize_if_settled();
  return promise;
}

void ShardManagerState::synchronize_if_settled() {
  if (!synchronization_ || (rounds_ && !rounds_->is_settled(synchronization_->steps)))
    return;
  const auto synchronization = std::exchange(synchronization_, std::nullopt);
  if (rounds_)
    rounds_->synchronize(synchronization->steps, weight());
  reducer_.synchronize();
  when_copied(synchronization->steps, nullptr,
              [promise = synchronization->promise]() mutable { promise.deliver(); });
}

/// Takes a message from another replica group.
void ShardManagerState::deliver(const collectives::MessagePtr& message) {
  if (!rounds_)
    return; // strategies without rounds send no messages
  if (auto opened = rounds_->open(message); !opened)
    return fail(opened.error());
  answer_requests();
  synchronize_if_settled();
}

/// Whether the sums of other replica groups for this step have arrived. If so, applies them to the
/// parameters.
bool ShardManagerState::begins(std::int64_t step) {
  if (!rounds_->may_begin(step))
    return false;
  for (const auto fragment : rounds_->apply_before(step))
    for (const auto& part :
         setup_.replica_groups->state->fragments()[static_cast<std::size_t>(fragment)].parts)
      reducer_.publish(reducer_.plan().buckets[part.bucket], work_of(step));
  return true;
}

/// The replica group's share of all slices.
double ShardManagerState::weight() const {
  const auto slices =
      slice_assignment().slices_of_group(rank_state().rank, strategy().replica_group);
  return static_cast<double>(slices) / slice_assignment().slices();
}

/// An applied step counts even if the communicator failed before its parameters were published:
/// others may have voted for it without receiving all votes.
bool ShardManagerState::is_committed(const InFlightStep& in_flight) const {
  return in_flight.worker &&
         (in_flight.applied || (failed_ && in_flight.made && reached(in_flight.made)));
}

void ShardManagerState::fail(Error error) {
  if (error.code == Errc::collective) {
    failed_ = true;
    for (auto next = in_flight_.begin(); next != in_flight_.end();)
      commit_if_done((next++)->first); // reports the step if it was made, and then erases it
  }
  report(std::move(error), slice_assignment().step_of(pass_));
}

} // namespace troupe::actors
