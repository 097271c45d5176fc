#include "actors/roles/shard_manager.hpp"

#include "actors/roles/detail/announce.hpp"
#include "actors/roles/detail/attend.hpp"
#include "actors/roles/traced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace troupe::actors {

namespace {

/// How much of [begin, end] the spans cover; they do not overlap.
std::chrono::nanoseconds covered(const std::vector<Span>& spans, std::chrono::nanoseconds begin,
                                 std::chrono::nanoseconds end) {
  std::chrono::nanoseconds sum{};
  for (const auto& [from, to] : spans)
    sum += std::max(std::chrono::nanoseconds{0}, std::min(end, to) - std::max(begin, from));
  return sum;
}

/// Joins spans that overlap.
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

/// Time of the optimizer while the rank neither computed nor exchanged anything.
std::chrono::nanoseconds bare_updates(const engine::Collectives& done,
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

/// How far ranks were from their mean: root mean square, as a part of the mean's norm.
double drift_of(const engine::StepFindings& found) {
  if (found.square_of_mean <= 0)
    return -1;
  return std::sqrt(std::max(0.0, found.mean_square - found.square_of_mean) / found.square_of_mean);
}

bool same_pass(const Use& a, const Use& b) {
  return a.purpose == b.purpose && a.index == b.index;
}

} // namespace

ShardManagerState::ShardManagerState(shard_manager_actor::pointer self, ShardManagerSetup setup)
    : self_{self}, setup_{std::move(setup)}, exchange_{setup_.exchange},
      saver_{self, exchange_, setup_.exchange.replica, setup_.saver}, pass_{setup_.first_pass},
      gathered_(exchange_.plan().buckets.size(), false), ready_(gathered_.size()) {
  if (setup_.teams)
    rounds_.emplace(*setup_.teams, shard_manager_actor{self_},
                    [this](std::chrono::milliseconds time, std::function<void()> then) {
                      self_->run_delayed(time, std::move(then));
                    });
}

shard_manager_actor::behavior_type ShardManagerState::make_behavior() {
  if (rounds_)
    attend(*setup_.teams->post, replica().device(), replica().rank, shard_manager_actor{self_});
  return traced<shard_manager_actor>(
      setup_.row, [this](atom::join, const worker_actor& worker) { worker_ = worker; },
      [this](atom::need_parameters, const Use& use) {
        requests_.push_back(use);
        answer_requests();
      },
      [this](atom::released, const Use& use, const EventPtr& event) { released(use, event); },
      [this](atom::gradients_ready, Pass pass, UnitId unit, const EventPtr& event) {
        gradients_ready(pass, unit, event);
      },
      [this](atom::done, const WorkerStep& worker, const SpansPtr& computing) {
        flights_[worker.step].worker = worker;
        flights_[worker.step].computing = computing;
        commit_if_done(worker.step);
      },
      [this](atom::done, std::int64_t step) {
        flights_[step].applied = true;
        commit_if_done(step);
      },
      [this](atom::failed, Error error) { fail(std::move(error)); },
      [this](atom::deal, const Redealing& next) {
        exchange_.deal(dealing().followed_by(next.counts, next.step, next.pass));
      },
      [this](atom::deliver, const collectives::MailPtr& mail) { deliver(mail); },
      // Of steps that ranks apply by message.
      [](atom::propose, std::int64_t) {}, [](atom::decided, const StepFound&) {},
      [](atom::vote, std::int64_t) {}, [](atom::advance, std::int64_t) {},
      [this](atom::meet, std::int64_t steps) { return meet(steps); },
      [this](atom::evaluate, std::int64_t step) { evaluate(step); },
      [this](atom::save, std::int64_t step) { return saver_.save(step); },
      [this](atom::save, std::int64_t step, std::uint64_t piece) {
        return saver_.write_piece(step, piece);
      },
      [this](atom::digest, std::int64_t step, std::uint64_t piece) {
        return saver_.hash_piece(step, piece);
      },
      [this](atom::contribute, std::int64_t, std::uint64_t piece) {
        exchange_.gather_piece(piece, nullptr);
      },
      [this](atom::generate, std::int64_t step, std::uint64_t piece) {
        return saver_.give_piece(step, piece);
      },
      [this](atom::saved, std::int64_t step) { saver_.copied(step); },
      [this](atom::abort, const Error& reason) { return abort(reason); },
      [this](atom::abort) { aborted_.deliver(); });
}

/// Whatever the stream has still to tell comes before.
caf::result<void> ShardManagerState::abort(const Error& reason) {
  replica().abort(reason);
  aborted_ = self_->make_response_promise<void>();
  if (rounds_ && setup_.teams->sum)
    exchange_.last_stream().wait(setup_.teams->sum->stream().record());
  exchange_.last_stream().on_complete(
      [me = shard_manager_actor{self_}](const Status&) { caf::anon_send(me, atom::abort_v); });
  return aborted_;
}

void ShardManagerState::answer_requests() {
  for (; !requests_.empty() && admit(requests_.front()); requests_.pop_front())
    self_->send(worker_, atom::parameters_ready_v, requests_.front(), event_for(requests_.front()));
}

bool ShardManagerState::takes_place(const Use& use) const {
  return use.phase == Phase::forward
             ? strategy().divides_parameters && strategy().reshard_after_forward
             : strategy().divides_gradients;
}

bool ShardManagerState::admit(const Use& use) {
  if (rounds_ && use.purpose == Purpose::training && !begins(dealing().step_of(use.index)))
    return false;
  const auto bucket = bucket_of(use.unit);
  if (!takes_place(use)) {
    if (strategy().divides_parameters && !gathered_[bucket])
      gather(use, bucket);
    return true;
  }
  if (is_open(use, bucket))
    return true;
  // Backward must not gather what forward still reads.
  if (open_.size() == strategy().alive || std::ranges::count(open_, bucket) > 0)
    return false;
  open(use, bucket);
  return true;
}

/// The bucket that ends forward begins backward, and stays open in between.
bool ShardManagerState::is_open(const Use& use, std::size_t bucket) const {
  return opened_ && opened_->bucket == bucket && same_pass(opened_->use, use);
}

void ShardManagerState::open(const Use& use, std::size_t bucket) {
  open_.push_back(bucket);
  const bool gathers = strategy().divides_parameters && strategy().reshard_after_forward &&
                       (use.phase == Phase::forward ||
                        replica().state->has_backward(exchange_.plan().buckets[bucket]));
  if (gathers)
    gather(use, bucket);
  // A place for gradients is free when the bucket that had it is reduced: parameters that are
  // published behind that are not waited for.
  opened_ = {bucket, use,
             gathers || !last_reduced_ ? replica().communication->record() : last_reduced_};
}

void ShardManagerState::gather(const Use& use, std::size_t bucket) {
  // Whoever had this memory before has been released by now.
  if (last_release_)
    replica().communication->wait(last_release_);
  engine::Collectives of_no_step;
  exchange_.gather(exchange_.plan().buckets[bucket],
                   use.purpose == Purpose::training ? collectives_of(dealing().step_of(use.index))
                                                    : of_no_step);
  gathered_[bucket] = !strategy().reshard_after_forward;
  ready_[bucket] = replica().communication->record();
}

engine::Collectives& ShardManagerState::collectives_of(std::int64_t step) {
  auto& collectives = flights_[step].collectives;
  collectives.step = step;
  return collectives;
}

EventPtr ShardManagerState::event_for(const Use& use) {
  if (takes_place(use))
    return opened_->event;
  // Backward writes where gradients of the pass before were read.
  return use.phase == Phase::forward ? ready_[bucket_of(use.unit)]
                                     : replica().communication->record();
}

void ShardManagerState::released(const Use& use, const EventPtr& event) {
  const auto bucket = bucket_of(use.unit);
  const bool complete = use.unit == exchange_.plan().buckets[bucket].units.last;
  const bool turns = use.purpose == Purpose::training && bucket == 0; // to backward
  if (complete && !turns && takes_place(use))
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
  replica().communication->wait(event);
  exchange_.accumulate(unit, pass);
  const auto& bucket = exchange_.plan().buckets[bucket_of(unit)];
  if (unit == bucket.units.first)
    finish_bucket(pass, bucket, event);
  if (unit == 0 && dealing().ends_step(pass))
    finish_step(dealing().step_of(pass));
  answer_requests();
}

void ShardManagerState::finish_bucket(Pass pass, const collectives::Bucket& bucket,
                                      const EventPtr& event) {
  const auto step = dealing().step_of(pass);
  const bool last = dealing().ends_step(pass);
  if (exchange_.sums(pass))
    exchange_.reduce(bucket, pass, collectives_of(step));
  last_reduced_ = replica().communication->record();
  if (last && exchange_.applies_early(step))
    exchange_.apply(bucket, collectives_of(step));
  if (last && exchange_.publishes_early(bucket, step))
    publish(bucket, collectives_of(step));
  if (strategy().divides_gradients)
    release(event);
}

void ShardManagerState::finish_step(std::int64_t step) {
  auto& done = collectives_of(step);
  const auto& found = flights_[step].found;
  exchange_.finish_step(step, found.get(), done);
  flights_[step].made = replica().communication->record();
  // The next forward begins with the first units.
  const auto& buckets = exchange_.plan().buckets;
  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket)
    if (!exchange_.publishes_early(*bucket, step))
      publish(*bucket, done);
  gathered_.assign(gathered_.size(), false);
  if (rounds_)
    end_round(step);
  announce(shard_manager_actor{self_}, exchange_.last_stream(), atom::done_v, step, found);
}

void ShardManagerState::publish(const collectives::Bucket& bucket, engine::Collectives& done) {
  exchange_.publish(bucket, done);
  ready_[bucket_of(bucket.units.first)] = replica().communication->record();
}

void ShardManagerState::commit_if_done(std::int64_t step) {
  const auto& flight = flights_[step];
  if (!is_committed(flight))
    return;
  if (const auto sound = check_loss(flight); !sound) {
    self_->send(setup_.saver.coordinator, atom::failed_v, flight.worker->loss);
    return fail(sound.error());
  }
  auto report = report_of(flight);
  add_round(report, flight);
  replica().before.reset(); // all have come this far
  flights_.erase(step);
  self_->send(setup_.saver.coordinator, atom::step_committed_v, report);
}

StepReport ShardManagerState::report_of(const Flight& flight) const {
  StepReport report{.rank = replica().rank, .worker = *flight.worker};
  for (const auto& each : flight.collectives.done) {
    if (!reached(each.end)) // the group has failed since
      continue;
    auto& [bytes, time] = report.collectives[static_cast<std::size_t>(each.kind)];
    bytes += each.bytes;
    time += each.end->time() - each.begin->time();
    report.overlapped += covered(*flight.computing, each.begin->time(), each.end->time());
  }
  if (!failed_)
    report.optimizer = bare_updates(flight.collectives, *flight.computing);
  // Batch norms sum within passes (ADR 0011).
  report.collectives[static_cast<std::size_t>(metrics::CollectiveKind::all_reduce)].bytes +=
      flight.worker->statistics_bytes;
  report.memory = replica().device().memory();
  report.squared_norm = flight.found->squared_norm;
  if (replica().state->loss_scale()) {
    const auto& scaler = flight.found->loss_scale;
    report.loss_scale = scaler.scale;
    report.skipped_steps = scaler.skipped;
    report.scale_growths = scaler.grown;
  }
  return report;
}

/// Where ranks do not meet in every step: what a round has sent, and how far they were apart.
void ShardManagerState::add_round(StepReport& report, const Flight& flight) {
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
  } else if (flight.found->square_of_mean > 0) {
    for (const auto& [bytes, time] : report.collectives)
      report.round_bytes += bytes;
    report.drift = drift_of(*flight.found);
  }
}

/// A scaled loss that is not finite is a step to skip while a smaller scale may help.
Status ShardManagerState::check_loss(const Flight& flight) const {
  if (std::isfinite(flight.worker->loss) || flight.found->loss_scale.scale >= 1)
    return {};
  return failure(Error{Errc::numeric,
                       fmt::format("the loss is {}, and the loss scale has fallen to {}",
                                   flight.worker->loss, flight.found->loss_scale.scale),
                       {.step = flight.worker->step}});
}

caf::result<void> ShardManagerState::meet(std::int64_t steps) {
  auto promise = self_->make_response_promise<void>();
  meeting_ = Meeting{steps, promise};
  meet_if_settled();
  return promise;
}

void ShardManagerState::meet_if_settled() {
  if (!meeting_ || (rounds_ && !rounds_->is_settled(meeting_->steps)))
    return;
  const auto meeting = std::exchange(meeting_, std::nullopt);
  if (rounds_)
    rounds_->meet(meeting->steps, weight());
  exchange_.meet(meeting->steps - 1);
  engine::Collectives of_no_step;
  for (const auto& bucket : exchange_.plan().buckets)
    publish(bucket, of_no_step);
  saver_.when_copied(meeting->steps, nullptr,
                     [promise = meeting->promise]() mutable { promise.deliver(); });
}

/// From another team.
void ShardManagerState::deliver(const collectives::MailPtr& mail) {
  if (!rounds_)
    return; // nobody writes to who meets the others
  if (auto opened = rounds_->open(mail); !opened)
    return fail(opened.error());
  answer_requests();
  meet_if_settled();
}

/// Whether what other teams have sent for this step is here: then parameters have it.
bool ShardManagerState::begins(std::int64_t step) {
  if (!rounds_->may_begin(step))
    return false;
  for (const auto fragment : rounds_->apply_before(step))
    for (const auto& part :
         setup_.teams->state->fragments()[static_cast<std::size_t>(fragment)].parts)
      publish(exchange_.plan().buckets[part.bucket], collectives_of(step));
  return true;
}

void ShardManagerState::end_round(std::int64_t step) {
  if (auto ended = rounds_->end_step(step, weight()); !ended)
    fail(ended.error());
}

/// Of all slices, the part that the team has.
double ShardManagerState::weight() const {
  const auto slices = engine::slices_of_team(dealing(), strategy(), replica().rank);
  return static_cast<double>(slices) / dealing().slices();
}

void ShardManagerState::evaluate(std::int64_t step) {
  exchange_.share_statistics();
  self_->send(worker_, atom::evaluate_v, step, replica().communication->record());
}

/// A step that was applied counts, also where the group has failed before its parameters were
/// published: others may have voted for it and not heard so.
bool ShardManagerState::is_committed(const Flight& flight) const {
  return flight.worker && (flight.applied || (failed_ && flight.made && reached(flight.made)));
}

void ShardManagerState::report_what_was_made() {
  failed_ = true;
  std::vector<std::int64_t> steps;
  for (const auto& [step, flight] : flights_)
    steps.push_back(step);
  for (const auto step : steps)
    commit_if_done(step);
}

void ShardManagerState::fail(Error error) {
  if (error.code == Errc::collective)
    report_what_was_made();
  error.where.actor = name;
  if (error.where.rank < 0)
    error.where.rank = replica().rank;
  if (error.where.step < 0)
    error.where.step = dealing().step_of(pass_);
  self_->send(setup_.saver.coordinator, atom::failed_v, std::move(error));
}

} // namespace troupe::actors
