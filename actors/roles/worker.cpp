#include "actors/roles/worker.hpp"

#include "actors/resume_in.hpp"
#include "actors/roles/traced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace troupe::actors {

namespace {

/// Returns the likely cause of a loss that is not finite, and a remedy.
std::string_view advice(Precision precision) {
  switch (precision) {
  case Precision::fp16:
    return " in pure fp16, which covers only 6e-8 to 65504; use amp_fp16, which keeps the "
           "parameters in fp32 and scales the loss";
  case Precision::bf16:
    return " in pure bf16; use amp_bf16, which keeps the parameters in fp32";
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
  self_->send(setup_.loader, atom::begin_v, rank_state().rank, worker_actor{self_},
              slice_assignment(), next_pass_);
  if (slice_assignment().is_on_demand())
    ask_for_slice();
  return traced<worker_actor>(
      setup_.row,
      [this](atom::advance, std::int64_t limit) {
        limit_ = limit;
        begin_pass();
      },
      [this](atom::batch, const MicroBatchPtr& batch) { take(batch); },
      [this](atom::parameters_ready, const ParameterRequest& request, const EventPtr& event) {
        run_bucket(request, event);
      },
      [this](atom::assign, const data::SliceAssignment& next) { return assign(next); },
      [this](atom::assign, Pass slice) {
        self_->send(setup_.loader, atom::fetch_v, rank_state().rank, PassMode::training, slice,
                    slice + 1);
      },
      [this](atom::evaluate, std::int64_t step, const EventPtr& statistics) {
        begin_evaluation(step, statistics);
      },
      [this](atom::measure) {
        if (setup_.measure_peak)
          setup_.measure_peak(
              [coordinator = setup_.coordinator, rank = rank_state().rank](double operations) {
                caf::anon_send(coordinator, atom::measure_v, rank, operations);
              });
      },
      [](atom::done, const FollowUpPtr& then) { (*then)(); });
}

void WorkerState::take(const MicroBatchPtr& batch) {
  if (batch->pass_mode != PassMode::training) {
    test_batches_.push_back(batch);
    return begin_test_batch();
  }
  if (!slice_assignment().is_on_demand() &&
      batch->index < next_pass_) // of an earlier slice assignment
    return self_->send(setup_.loader, atom::credit_v, rank_state().rank, batch);
  batches_.push_back(batch);
  begin_pass();
}

/// Returns batches that were filled ahead for the old slice assignment.
caf::result<void> WorkerState::assign(const data::SliceAssignment& next) {
  const auto rank = rank_state().rank;
  setup_.slice_assignment = next;
  setup_.first_pass = next_pass_ = next.first_pass();
  for (const auto& batch : std::exchange(batches_, {}))
    self_->send(setup_.loader, atom::credit_v, rank, batch);
  return self_->delegate(setup_.loader, atom::begin_v, rank, worker_actor{self_}, next, next_pass_);
}

UnitId WorkerState::units() const {
  return static_cast<UnitId>(rank_state().train().layout().unit_elements.size());
}

/// Whether this unit is the last of a gathered bucket in forward. Asynchronous ranks keep whole
/// copies.
bool WorkerState::releases(UnitId unit) const {
  return strategy().divides_parameters && !strategy().is_asynchronous() &&
         plan().buckets[plan().bucket_of[static_cast<std::size_t>(unit)]].units.last == unit;
}

metrics::SpanLabel WorkerState::label(std::string_view what,
                                      const ParameterRequest& request) const {
  return {metrics::SpanKind::compute, what,
          rank_state().train().layout().unit_names[static_cast<std::size_t>(request.unit)],
          request.pass_mode == PassMode::training ? slice_assignment().step_of(request.index) : -1};
}

void WorkerState::begin_pass() {
  if (slice_assignment().is_on_demand() && !batches_.empty())
    next_pass_ = batches_.front()->index;
  const bool computes = local_index(next_pass_) >= 0;
  if (enqueuing_ || (computes && batches_.empty()) || !is_granted(next_pass_))
    return;
  enqueuing_ = true;
  auto in_flight = std::make_shared<InFlightStep>();
  in_flight->statistics_bytes = statistics_bytes();
  if (computes)
    if (auto taken = take_batch(*in_flight); !taken)
      return fail(std::move(taken).error());
  passes_[next_pass_] = std::move(in_flight);
  // All at once: SHARD MANAGER answers in this order, and may gather ahead.
  ask(PassMode::training, next_pass_, Phase::forward);
  if (!alone())
    ask(PassMode::training, next_pass_, Phase::backward);
}

Status WorkerState::take_batch(InFlightStep& in_flight) {
  in_flight.batch = batches_.front();
  batches_.pop_front();
  in_flight.asked = stream().record();
  stream().wait(in_flight.batch->ready);
  in_flight.fed = stream().record();
  setup_.stream_row.add({metrics::SpanKind::data, "wait for batch"}, in_flight.asked,
                        in_flight.fed);
  return rank_state().train().set_batch(in_flight.batch->view);
}

void WorkerState::ask(PassMode pass_mode, std::int64_t index, Phase phase) {
  const auto& buckets = plan().buckets; // in the order of backward
  const auto need = [&](UnitId unit) {
    self_->send(setup_.shard_manager, atom::need_parameters_v,
                ParameterRequest{pass_mode, index, phase, unit});
  };
  if (phase == Phase::backward)
    for (const auto& bucket : buckets)
      need(bucket.units.last);
  else
    for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket)
      need(bucket->units.first);
}

void WorkerState::run_bucket(ParameterRequest request, const EventPtr& parameters) {
  if (const auto asked = std::exchange(asked_, std::nullopt))
    came_in_ = std::chrono::steady_clock::now() - *asked;
  if (parameters)
    stream().wait(parameters);
  const auto units = plan().buckets[plan().bucket_of[static_cast<std::size_t>(request.unit)]].units;
  if (request.phase == Phase::backward)
    for (request.unit = units.last; request.unit >= units.first; --request.unit)
      backward(request);
  else
    for (request.unit = units.first; request.unit <= units.last; ++request.unit)
      request.pass_mode == PassMode::training ? forward(request) : test_unit(request);
}

void WorkerState::forward(const ParameterRequest& request) {
  auto& in_flight = *passes_.at(request.index);
  if (!alone() || request.unit == 0)
    in_flight.begin = stream().record();
  if (alone())
    return request.unit + 1 == units() ? run_whole(request.index) : void();
  if (local_index(request.index) >= 0)
    run_forward(request);
  auto end = stream().record();
  if (releases(request.unit))
    self_->send(gatherer(), atom::released_v, request, end);
  in_flight.running.emplace_back(std::move(in_flight.begin), std::move(end));
}

void WorkerState::run_forward(const ParameterRequest& request) {
  auto& executable = rank_state().train();
  if (refreshes(request.index)) {
    const auto span = setup_.stream_row.span(stream(), label("refresh", request));
    executable.refresh(stream(), request.unit);
  }
  const auto span = setup_.stream_row.span(stream(), label("forward", request));
  executable.forward(stream(), request.unit);
}

void WorkerState::set_gradient_mode(Pass pass) {
  auto& train = rank_state().train();
  train.set_gradient_mode(gradient_mode(strategy(), train, local_index(pass)));
}

void WorkerState::backward(const ParameterRequest& request) {
  auto begin = stream().record();
  if (local_index(request.index) >= 0) {
    set_gradient_mode(request.index);
    const auto span = setup_.stream_row.span(stream(), label("backward", request));
    rank_state().train().backward(stream(), request.unit);
  }
  if (slice_assignment().is_on_demand() && request.unit == ask_behind_)
    stream().on_complete([this, me = worker_actor{self_}](const Status& status) {
      if (status)
        resume_in(me, [this] { ask_for_slice(); });
    });
  if (request.unit == 0)
    settle_statistics(request.index);
  auto end = stream().record();
  self_->send(setup_.shard_manager, atom::gradients_ready_v, request.index, request.unit, end);
  passes_.at(request.index)->running.emplace_back(std::move(begin), std::move(end));
  if (request.unit == 0)
    end_pass(request.index);
}

void WorkerState::ask_for_slice() {
  asked_ = std::chrono::steady_clock::now();
  self_->send(setup_.coordinator, atom::assign_v, rank_state().rank);
}

/// Requests the next slice when the rest of a pass takes 1.5 times as long as recent slices took to
/// arrive. Not earlier, because a slow worker would hold a slice that another one could begin.
/// Longer waits than a pass count as that pass's time: otherwise the pause of an evaluation would
/// be remembered for long.
void WorkerState::plan_asking(const InFlightStep& in_flight) {
  const auto& running =
      in_flight.running; // the last entries are backward's units, from the highest down
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
  if (refreshes(pass)) {
    const auto span = setup_.stream_row.span(
        stream(), {metrics::SpanKind::compute, "refresh", "", slice_assignment().step_of(pass)});
    rank_state().train().refresh_all(stream());
  }
  {
    const auto span =
        setup_.stream_row.span(stream(), {metrics::SpanKind::compute, "forward and backward", "",
                                          slice_assignment().step_of(pass)});
    set_gradient_mode(pass);
    rank_state().train().run(stream());
  }
  settle_statistics(pass);
  const auto end = stream().record();
  auto& in_flight = *passes_.at(pass);
  in_flight.running.emplace_back(std::move(in_flight.begin), end);
  for (UnitId unit = units() - 1; unit >= 0; --unit)
    self_->send(setup_.shard_manager, atom::gradients_ready_v, pass, unit, end);
  end_pass(pass);
}

/// The running statistics of a step are those of slice 0, even if the rank has other slices (ADR
/// 25). They must be in place when the last gradients of the step are ready, as SHARD MANAGER reads
/// them after that.
void WorkerState::settle_statistics(Pass pass) {
  if (!rank_state().state->statistics().keeps())
    return;
  if (local_index(pass) == 0)
    rank_state().state->statistics().keep(stream());
  else if (slice_assignment().ends_step(pass))
    rank_state().state->statistics().restore(stream());
}

void WorkerState::end_pass(Pass pass) {
  const auto& in_flight = passes_.at(pass);
  in_flight->statistics_bytes = statistics_bytes() - in_flight->statistics_bytes;
  if (in_flight->batch)
    rank_state().train().read_outputs(stream(), &in_flight->outputs);
  announce_done(PassMode::training, pass, in_flight);
  ++next_pass_;
  enqueuing_ = false;
  begin_pass();
}

std::uint64_t WorkerState::statistics_bytes() const {
  const auto& group = rank_state().statistics_group;
  return group ? group->traffic() : 0;
}

void WorkerState::announce_done(PassMode pass_mode, std::int64_t index,
                                std::shared_ptr<const InFlightStep> written) {
  stream().on_complete([this, me = worker_actor{self_}, pass_mode, index,
                        written = std::move(written)](const Status& status) {
    resume_in(me, [this, pass_mode, index, status] {
      if (!status)
        fail(status.error());
      else
        pass_mode == PassMode::training ? finish_pass(index) : finish_test_batch(index);
    });
  });
}

void WorkerState::finish_pass(Pass pass) {
  const auto node = passes_.extract(pass);
  const auto& in_flight = *node.mapped();
  if (slice_assignment().begins_step(pass) || slice_assignment().is_on_demand())
    step_ = WorkerStep{.step = slice_assignment().step_of(pass),
                       .begin = in_flight.running.front().first->time()};
  if (in_flight.batch)
    add_outputs(in_flight);
  step_.statistics_bytes += in_flight.statistics_bytes;
  for (const auto& [begin, end] : in_flight.running) {
    computing_.emplace_back(begin->time(), end->time());
    step_.busy += end->time() - begin->time();
  }
  step_.end = computing_.back().second;
  if (slice_assignment().is_on_demand())
    plan_asking(in_flight);
  if (slice_assignment().ends_step(pass) || slice_assignment().is_on_demand())
    finish_step(pass);
}

void WorkerState::add_outputs(const InFlightStep& in_flight) {
  self_->send(setup_.loader, atom::credit_v, rank_state().rank, in_flight.batch);
  const auto slices_of_a_rank =
      static_cast<double>(slice_assignment().slices()) / slice_assignment().world_size();
  step_.loss += double{in_flight.outputs["loss"]} / slices_of_a_rank;
  step_.right.add(counts_of(in_flight.outputs));
  step_.samples += in_flight.batch->samples;
  step_.data_wait += in_flight.fed->time() - in_flight.asked->time();
}

/// Ends a step, or in asynchronous training one slice of it.
void WorkerState::finish_step(Pass last) {
  const auto is_ready = [](const MicroBatchPtr& batch) { return batch && batch->ready->ready(); };
  // Micro-batches that are filled and that no pass has read.
  step_.ready_batches = std::ranges::count_if(batches_, is_ready) +
                        std::ranges::count_if(passes_, [&](const auto& pass) {
                          return is_ready(pass.second->batch);
                        });
  if (!setup_.scales_loss && !std::isfinite(step_.loss)) {
    fail_loss();
  } else {
    // SHARD MANAGER gets them first: it has them when COORDINATOR has it apply the step.
    self_->send(setup_.shard_manager, atom::done_v, step_,
                SpansPtr{std::make_shared<const std::vector<Span>>(std::move(computing_))});
    if (slice_assignment().is_on_demand())
      self_->send(setup_.coordinator, atom::done_v, rank_state().rank, last);
  }
  step_ = {};
  computing_.clear();
}

void WorkerState::fail_loss() {
  self_->send(setup_.coordinator, atom::failed_v, step_.loss);
  fail(Error{Errc::numeric,
             fmt::format("the loss is {}{}", step_.loss, advice(setup_.precision)),
             {.step = step_.step}});
}

void WorkerState::begin_evaluation(std::int64_t step, const EventPtr& statistics) {
  if (statistics)
    stream().wait(statistics);
  evaluation_ = {.rank = rank_state().rank, .step = step};
  tested_ = 0;
  refreshed_ = false;
  self_->send(setup_.loader, atom::fetch_v, rank_state().rank, PassMode::evaluation,
              std::int64_t{0}, setup_.test_batches);
}

void WorkerState::begin_test_batch() {
  if (enqueuing_ || test_batches_.empty())
    return;
  enqueuing_ = true;
  const auto batch = test_batches_.front();
  test_batches_.pop_front();
  auto& in_flight = *(tests_[batch->index] = std::make_shared<InFlightStep>());
  in_flight.batch = batch;
  stream().wait(batch->ready);
  if (auto set = rank_state().evaluate().set_batch(batch->view); !set)
    return fail(std::move(set).error());
  ask(PassMode::evaluation, batch->index, Phase::forward);
}

void WorkerState::test_unit(const ParameterRequest& request) {
  auto& executable = rank_state().evaluate();
  if (!refreshed_)
    executable.refresh(stream(), request.unit);
  const bool last = request.unit + 1 == units();
  if (strategy().divides_parameters) {
    const auto span = setup_.stream_row.span(stream(), label("evaluate", request));
    executable.forward(stream(), request.unit);
    if (releases(request.unit))
      self_->send(gatherer(), atom::released_v, request, stream().record());
  } else if (last) {
    const auto span = setup_.stream_row.span(stream(), {metrics::SpanKind::compute, "evaluate"});
    executable.run(stream());
  }
  if (last)
    end_test_batch(request.index);
}

void WorkerState::end_test_batch(std::int64_t index) {
  refreshed_ = true;
  const auto& in_flight = tests_.at(index);
  rank_state().evaluate().read_outputs(stream(), &in_flight->outputs);
  announce_done(PassMode::evaluation, index, in_flight);
  enqueuing_ = false;
  begin_test_batch();
}

void WorkerState::finish_test_batch(std::int64_t index) {
  const auto node = tests_.extract(index);
  const auto& batch = node.mapped()->batch;
  const auto& outputs = node.mapped()->outputs;
  self_->send(setup_.loader, atom::credit_v, rank_state().rank, batch);
  const auto counts = counts_of(outputs);
  if (counts.rows > 0) // the mean of no rows is NaN
    evaluation_.loss_sum += double{outputs["loss"]} * static_cast<double>(counts.rows);
  evaluation_.right.add(counts);
  if (++tested_ == setup_.test_batches)
    self_->send(setup_.coordinator, atom::evaluated_v, evaluation_);
}

void WorkerState::fail(Error error) {
  error.where.actor = name;
  error.where.rank = rank_state().rank;
  if (error.where.step < 0)
    error.where.step = slice_assignment().step_of(next_pass_);
  self_->send(setup_.coordinator, atom::failed_v, std::move(error));
}

} // namespace troupe::actors
