#include "actors/roles/worker.hpp"

#include "actors/roles/traced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace troupe::actors {

namespace {

/// What a loss that is not finite may come from.
std::string_view advice(Precision precision) {
  switch (precision) {
  case Precision::fp16:
    return " in pure fp16, whose largest value is 65504 and whose smallest 6e-8; amp_fp16 keeps "
           "the "
           "parameters in fp32 and scales the loss";
  case Precision::bf16:
    return " in pure bf16; amp_bf16 keeps the parameters in fp32";
  default:
    return "";
  }
}

Right counts_of(const StepOutputs& outputs) {
  Right counts{.rows = std::llround(outputs["loss.counted"])};
  if (const auto correct = outputs.find("correct"))
    counts.correct = std::llround(*correct);
  return counts;
}

} // namespace

WorkerState::WorkerState(worker_actor::pointer self, WorkerSetup setup)
    : self_{self}, setup_{std::move(setup)}, next_pass_{setup_.first_pass} {}

worker_actor::behavior_type WorkerState::make_behavior() {
  self_->send(setup_.loader, atom::begin_v, setup_.replica->rank, worker_actor{self_}, next_pass_);
  if (dealing().is_leased())
    ask_for_slice();
  return traced<worker_actor>(
      setup_.row,
      [this](atom::advance, std::int64_t limit) {
        limit_ = limit;
        begin_pass();
      },
      [this](atom::batch, const MicroBatchPtr& batch) { take(batch); },
      [this](atom::parameters_ready, const Use& use, const EventPtr& event) {
        run_bucket(use, event);
      },
      [this](atom::deal, const Redealing& next) { return deal(next); },
      [this](atom::fetch) { ask_for_slice(); },
      [this](atom::deal, Pass slice) {
        self_->send(setup_.loader, atom::fetch_v, setup_.replica->rank, slice);
      },
      [this](atom::evaluate, std::int64_t step, const EventPtr& statistics) {
        begin_evaluation(step, statistics);
      },
      [this](atom::measure) { measure_peak(); },
      [this](atom::done, Purpose purpose, std::int64_t index) {
        purpose == Purpose::training ? finish_pass(index) : finish_test_batch(index);
      },
      [this](atom::failed, Error error) { fail(std::move(error)); });
}

void WorkerState::take(const MicroBatchPtr& batch) {
  if (batch->purpose != Purpose::training) {
    test_batches_.push_back(batch);
    return begin_test_batch();
  }
  if (!dealing().is_leased() && batch->index < next_pass_) // of a dealing that is over
    return self_->send(setup_.loader, atom::credit_v, setup_.replica->rank, batch);
  batches_.push_back(batch);
  begin_pass();
}

/// What was filled ahead for the dealing before is given back.
caf::result<void> WorkerState::deal(const Redealing& next) {
  const auto rank = setup_.replica->rank;
  setup_.dealing = dealing().followed_by(next.counts, next.step, next.pass);
  setup_.first_pass = next_pass_ = next.pass;
  for (const auto& batch : std::exchange(batches_, {}))
    self_->send(setup_.loader, atom::credit_v, rank, batch);
  return self_->delegate(setup_.loader, atom::deal_v, rank, next);
}

UnitId WorkerState::units() const {
  return static_cast<UnitId>(setup_.replica->train().layout().unit_elements.size());
}

/// Whether a forward use of a bucket that was gathered ends with this unit.
bool WorkerState::releases(UnitId unit) const {
  return strategy().divides_parameters &&
         plan().buckets[plan().bucket_of[static_cast<std::size_t>(unit)]].units.last == unit;
}

metrics::SpanLabel WorkerState::label(std::string_view what, const Use& use) const {
  return {metrics::SpanKind::compute, what,
          setup_.replica->train().layout().unit_names[static_cast<std::size_t>(use.unit)],
          use.purpose == Purpose::training ? dealing().step_of(use.index) : -1};
}

void WorkerState::begin_pass() {
  if (dealing().is_leased() && !batches_.empty())
    next_pass_ = batches_.front()->index;
  const bool computes = turn(next_pass_) >= 0;
  if (enqueuing_ || (computes && batches_.empty()) || !is_granted(next_pass_))
    return;
  enqueuing_ = true;
  auto flight = std::make_shared<Flight>();
  flight->statistics_bytes = statistics_bytes();
  if (computes)
    if (auto taken = take_batch(*flight); !taken)
      return fail(std::move(taken).error());
  passes_[next_pass_] = std::move(flight);
  // All at once: the shard manager answers in this order, and may fetch ahead.
  ask(Purpose::training, next_pass_, Phase::forward);
  if (!alone())
    ask(Purpose::training, next_pass_, Phase::backward);
}

Status WorkerState::take_batch(Flight& flight) {
  flight.batch = batches_.front();
  batches_.pop_front();
  auto& stream = *setup_.replica->compute;
  flight.asked = stream.record();
  stream.wait(flight.batch->ready);
  flight.fed = stream.record();
  setup_.stream_row.add({metrics::SpanKind::data, "wait for batch"}, flight.asked, flight.fed);
  return setup_.replica->train().set_batch(flight.batch->view);
}

void WorkerState::ask(Purpose purpose, std::int64_t index, Phase phase) {
  const auto& buckets = plan().buckets; // in the order of backward
  const auto need = [&](UnitId unit) {
    self_->send(setup_.shard_manager, atom::need_parameters_v, Use{purpose, index, phase, unit});
  };
  if (phase == Phase::backward)
    for (const auto& bucket : buckets)
      need(bucket.units.last);
  else
    for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket)
      need(bucket->units.first);
}

void WorkerState::run_bucket(Use use, const EventPtr& parameters) {
  if (const auto asked = std::exchange(asked_, std::nullopt))
    came_in_ = std::chrono::steady_clock::now() - *asked;
  if (parameters)
    setup_.replica->compute->wait(parameters);
  const auto units = plan().buckets[plan().bucket_of[static_cast<std::size_t>(use.unit)]].units;
  if (use.phase == Phase::backward)
    for (use.unit = units.last; use.unit >= units.first; --use.unit)
      backward(use);
  else
    for (use.unit = units.first; use.unit <= units.last; ++use.unit)
      use.purpose == Purpose::training ? forward(use) : test_unit(use);
}

void WorkerState::forward(const Use& use) {
  auto& stream = *setup_.replica->compute;
  auto& flight = *passes_.at(use.index);
  if (!alone() || use.unit == 0)
    flight.begin = stream.record();
  if (alone())
    return use.unit + 1 == units() ? run_whole(use.index) : void();
  if (turn(use.index) >= 0)
    run_forward(use);
  auto end = stream.record();
  if (releases(use.unit))
    self_->send(setup_.shard_manager, atom::released_v, use, end);
  flight.running.emplace_back(std::move(flight.begin), std::move(end));
}

void WorkerState::run_forward(const Use& use) {
  auto& stream = *setup_.replica->compute;
  auto& executable = setup_.replica->train();
  if (refreshes(use.index)) {
    const auto span = setup_.stream_row.span(stream, label("refresh", use));
    executable.refresh(stream, use.unit);
  }
  const auto span = setup_.stream_row.span(stream, label("forward", use));
  executable.forward(stream, use.unit);
}

void WorkerState::backward(const Use& use) {
  auto& stream = *setup_.replica->compute;
  auto begin = stream.record();
  if (turn(use.index) >= 0) {
    const auto span = setup_.stream_row.span(stream, label("backward", use));
    setup_.replica->train().backward(stream, use.unit);
  }
  if (dealing().is_leased() && use.unit == ask_behind_)
    stream.on_complete([me = worker_actor{self_}](const Status& status) {
      if (status)
        caf::anon_send(me, atom::fetch_v);
    });
  if (use.unit == 0)
    settle_statistics(use.index);
  auto end = stream.record();
  self_->send(setup_.shard_manager, atom::gradients_ready_v, use.index, use.unit, end);
  passes_.at(use.index)->running.emplace_back(std::move(begin), std::move(end));
  if (use.unit == 0)
    end_pass(use.index);
}

void WorkerState::ask_for_slice() {
  asked_ = std::chrono::steady_clock::now();
  self_->send(setup_.coordinator, atom::deal_v, setup_.replica->rank);
}

/// The next slice is asked for when as much of a pass is left as one has lately taken to come, and
/// half of that more. Not earlier: who is slow would hold a slice that another could have begun. A
/// wait that is longer than what can be asked ahead counts as that: one for an evaluation would
/// else be remembered for long.
void WorkerState::plan_asking(const Flight& flight) {
  const auto& running = flight.running; // backward's units are the last, from the highest on
  const auto left_behind = [&](UnitId unit) {
    const auto& ran = running[running.size() - 1 - static_cast<std::size_t>(unit)];
    return running.back().second->time() - ran.second->time();
  };
  const auto last = units() - 1;
  comes_in_ = std::max(std::min(came_in_, left_behind(last)), comes_in_ * 7 / 8);
  for (ask_behind_ = 0; ask_behind_ < last; ++ask_behind_)
    if (left_behind(ask_behind_) >= comes_in_ * 3 / 2)
      break;
}

void WorkerState::run_whole(Pass pass) {
  auto& stream = *setup_.replica->compute;
  if (refreshes(pass)) {
    const auto span = setup_.stream_row.span(
        stream, {metrics::SpanKind::compute, "refresh", "", dealing().step_of(pass)});
    setup_.replica->train().refresh_all(stream);
  }
  {
    const auto span = setup_.stream_row.span(
        stream, {metrics::SpanKind::compute, "forward and backward", "", dealing().step_of(pass)});
    setup_.replica->train().run(stream);
  }
  settle_statistics(pass);
  const auto end = stream.record();
  auto& flight = *passes_.at(pass);
  flight.running.emplace_back(std::move(flight.begin), end);
  for (UnitId unit = units() - 1; unit >= 0; --unit)
    self_->send(setup_.shard_manager, atom::gradients_ready_v, pass, unit, end);
  end_pass(pass);
}

/// Running statistics are those of slice 0, however many others the same rank has (ADR 25); and are
/// so when the last gradients of a step are there, behind which SHARD MANAGER reads them.
void WorkerState::settle_statistics(Pass pass) {
  const auto& replica = *setup_.replica;
  if (!replica.state->keeps_statistics())
    return;
  if (turn(pass) == 0)
    replica.state->keep_statistics(*replica.compute);
  else if (dealing().ends_step(pass))
    replica.state->restore_statistics(*replica.compute);
}

void WorkerState::end_pass(Pass pass) {
  auto& stream = *setup_.replica->compute;
  const auto& flight = passes_.at(pass);
  flight->statistics_bytes = statistics_bytes() - flight->statistics_bytes;
  if (flight->batch)
    setup_.replica->train().read_outputs(stream, &flight->outputs);
  announce_done(Purpose::training, pass, flight);
  ++next_pass_;
  enqueuing_ = false;
  begin_pass();
}

std::uint64_t WorkerState::statistics_bytes() const {
  const auto& group = setup_.replica->statistics_group;
  return group ? group->traffic().bytes : 0;
}

void WorkerState::announce_done(Purpose purpose, std::int64_t index,
                                std::shared_ptr<const Flight> written) {
  setup_.replica->compute->on_complete([me = worker_actor{self_}, purpose, index,
                                        written = std::move(written)](const Status& status) {
    if (status)
      caf::anon_send(me, atom::done_v, purpose, index);
    else
      caf::anon_send(me, atom::failed_v, status.error());
  });
}

void WorkerState::finish_pass(Pass pass) {
  const auto node = passes_.extract(pass);
  if (node.empty())
    return;
  const auto& flight = *node.mapped();
  if (dealing().begins_step(pass) || dealing().is_leased())
    step_ =
        WorkerStep{.step = dealing().step_of(pass), .begin = flight.running.front().first->time()};
  if (flight.batch)
    add_outputs(flight);
  step_.statistics_bytes += flight.statistics_bytes;
  for (const auto& [begin, end] : flight.running) {
    computing_.emplace_back(begin->time(), end->time());
    step_.busy += end->time() - begin->time();
  }
  step_.end = computing_.back().second;
  if (dealing().is_leased())
    plan_asking(flight);
  if (dealing().ends_step(pass) || dealing().is_leased())
    finish_step(pass);
}

void WorkerState::add_outputs(const Flight& flight) {
  self_->send(setup_.loader, atom::credit_v, setup_.replica->rank, flight.batch);
  const auto slices_of_a_rank = static_cast<double>(dealing().slices()) / dealing().world_size();
  step_.loss += double{flight.outputs["loss"]} / slices_of_a_rank;
  step_.right.add(counts_of(flight.outputs));
  step_.samples += flight.batch->samples;
  step_.data_wait += flight.fed->time() - flight.asked->time();
}

std::int64_t WorkerState::ready_batches() const {
  const auto is_ready = [](const MicroBatchPtr& batch) { return batch && batch->ready->ready(); };
  return std::ranges::count_if(batches_, is_ready) +
         std::ranges::count_if(passes_,
                               [&](const auto& pass) { return is_ready(pass.second->batch); });
}

/// Of a step, or of a slice of one.
void WorkerState::finish_step(Pass last) {
  step_.ready_batches = ready_batches();
  if (!setup_.scales_loss && !std::isfinite(step_.loss))
    fail_loss(step_.step);
  else if (dealing().is_leased())
    self_->send(setup_.coordinator, atom::done_v, setup_.replica->rank, last, step_);
  else
    self_->send(setup_.shard_manager, atom::done_v, step_,
                SpansPtr{std::make_shared<const std::vector<Span>>(std::move(computing_))});
  step_ = {};
  computing_.clear();
}

void WorkerState::measure_peak() {
  if (setup_.measure_peak)
    setup_.measure_peak(
        [coordinator = setup_.coordinator, rank = setup_.replica->rank](double operations) {
          caf::anon_send(coordinator, atom::measure_v, rank, operations);
        });
}

void WorkerState::fail_loss(std::int64_t step) {
  self_->send(setup_.coordinator, atom::failed_v, step_.loss);
  fail(Error{Errc::numeric,
             fmt::format("the loss is {}{}", step_.loss, advice(setup_.precision)),
             {.step = step}});
}

void WorkerState::begin_evaluation(std::int64_t step, const EventPtr& statistics) {
  if (statistics)
    setup_.replica->compute->wait(statistics);
  evaluation_ = {.rank = setup_.replica->rank, .step = step};
  tested_ = 0;
  refreshed_ = false;
  self_->send(setup_.loader, atom::evaluate_v, setup_.replica->rank);
}

void WorkerState::begin_test_batch() {
  if (enqueuing_ || test_batches_.empty())
    return;
  enqueuing_ = true;
  const auto batch = test_batches_.front();
  test_batches_.pop_front();
  auto& flight = *(tests_[batch->index] = std::make_shared<Flight>());
  flight.batch = batch;
  setup_.replica->compute->wait(batch->ready);
  if (auto set = setup_.replica->evaluate().set_batch(batch->view); !set)
    return fail(std::move(set).error());
  ask(Purpose::evaluation, batch->index, Phase::forward);
}

void WorkerState::test_unit(const Use& use) {
  auto& stream = *setup_.replica->compute;
  auto& executable = setup_.replica->evaluate();
  if (!refreshed_)
    executable.refresh(stream, use.unit);
  const bool last = use.unit + 1 == units();
  if (strategy().divides_parameters) {
    const auto span = setup_.stream_row.span(stream, label("evaluate", use));
    executable.forward(stream, use.unit);
    if (releases(use.unit))
      self_->send(setup_.shard_manager, atom::released_v, use, stream.record());
  } else if (last) {
    const auto span = setup_.stream_row.span(stream, {metrics::SpanKind::compute, "evaluate"});
    executable.run(stream);
  }
  if (last)
    end_test_batch(use.index);
}

void WorkerState::end_test_batch(std::int64_t index) {
  refreshed_ = true;
  const auto& flight = tests_.at(index);
  setup_.replica->evaluate().read_outputs(*setup_.replica->compute, &flight->outputs);
  announce_done(Purpose::evaluation, index, flight);
  enqueuing_ = false;
  begin_test_batch();
}

void WorkerState::finish_test_batch(std::int64_t index) {
  const auto node = tests_.extract(index);
  if (node.empty())
    return;
  const auto& batch = node.mapped()->batch;
  const auto& outputs = node.mapped()->outputs;
  self_->send(setup_.loader, atom::credit_v, setup_.replica->rank, batch);
  const auto counts = counts_of(outputs);
  if (counts.rows > 0) // the mean of no rows is not a number
    evaluation_.loss_sum += double{outputs["loss"]} * static_cast<double>(counts.rows);
  evaluation_.right.add(counts);
  if (++tested_ == setup_.test_batches)
    self_->send(setup_.coordinator, atom::evaluated_v, evaluation_);
}

void WorkerState::fail(Error error) {
  error.where.actor = name;
  error.where.rank = setup_.replica->rank;
  if (error.where.step < 0)
    error.where.step = dealing().step_of(next_pass_);
  self_->send(setup_.coordinator, atom::failed_v, std::move(error));
}

} // namespace troupe::actors
