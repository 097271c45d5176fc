#include "worker.hpp"

#include "traced.hpp"

#include <fmt/format.h>

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

} // namespace

WorkerState::WorkerState(worker_actor::pointer self, WorkerSetup setup)
    : self_{self}, setup_{std::move(setup)}, next_pass_{setup_.first_pass} {}

worker_actor::behavior_type WorkerState::make_behavior() {
  const worker_actor me{self_};
  self_->send(setup_.shard_manager, atom::join_v, me);
  self_->send(setup_.loader, atom::begin_v, setup_.replica->rank, me, next_pass_);
  self_->send(setup_.coordinator, atom::join_v, setup_.replica->rank, me, setup_.shard_manager);
  return traced<worker_actor>(
      setup_.row,
      [this](atom::advance, std::int64_t limit) {
        limit_ = limit;
        begin_pass();
      },
      [this](atom::batch, const MicroBatchPtr& batch) {
        if (batch->purpose == Purpose::evaluate)
          return evaluate_batch(batch);
        batches_.push_back(batch);
        begin_pass();
      },
      [this](atom::parameters_ready, Pass pass, UnitId unit, const EventPtr& event) {
        forward(pass, unit, event);
      },
      [this](atom::evaluate, std::int64_t step, const EventPtr& statistics) {
        begin_evaluation(step, statistics);
      },
      [this](atom::done, Purpose purpose, std::int64_t index) {
        purpose == Purpose::train ? finish_pass(index) : finish_test_batch(index);
      },
      [this](atom::failed, Error error) { fail(std::move(error)); });
}

UnitId WorkerState::units() const {
  return static_cast<UnitId>(setup_.replica->train->layout().unit_elements.size());
}

metrics::SpanLabel WorkerState::label(std::string_view what, UnitId unit, Pass pass) const {
  return {metrics::SpanKind::compute, what,
          setup_.replica->train->layout().unit_names[static_cast<std::size_t>(unit)],
          pass / setup_.accumulate};
}

void WorkerState::begin_pass() {
  if (enqueuing_ || batches_.empty() || next_pass_ >= limit_ * setup_.accumulate)
    return;
  auto flight = std::make_unique<Flight>();
  flight->batch = batches_.front();
  batches_.pop_front();
  enqueuing_ = true;

  auto& stream = *setup_.replica->compute;
  flight->asked = stream.record();
  stream.wait(flight->batch->ready);
  flight->fed = stream.record();
  setup_.stream_row.add({metrics::SpanKind::data, "wait for batch"}, flight->asked, flight->fed);
  setup_.replica->train->set_batch(flight->batch->view);
  passes_[next_pass_] = std::move(flight);
  // All units at once: the shard manager answers in this order, and may fetch ahead.
  for (UnitId unit = 0; unit < units(); ++unit)
    self_->send(setup_.shard_manager, atom::need_parameters_v, next_pass_, unit);
}

void WorkerState::forward(Pass pass, UnitId unit, const EventPtr& parameters) {
  auto& stream = *setup_.replica->compute;
  auto& executable = *setup_.replica->train;
  if (parameters)
    stream.wait(parameters);
  if (unit == 0)
    passes_.at(pass)->began = stream.record();
  // Parameters change between steps, not between the passes of one.
  if (pass % setup_.accumulate == 0) {
    const auto span = setup_.stream_row.span(stream, label("refresh", unit, pass));
    executable.refresh(stream, unit);
  }
  if (!alone()) {
    const auto span = setup_.stream_row.span(stream, label("forward", unit, pass));
    executable.forward(stream, unit);
  }
  if (unit + 1 == units())
    alone() ? run_whole(pass) : backward(pass);
}

void WorkerState::backward(Pass pass) {
  auto& stream = *setup_.replica->compute;
  for (UnitId unit = units() - 1; unit >= 0; --unit) {
    {
      const auto span = setup_.stream_row.span(stream, label("backward", unit, pass));
      setup_.replica->train->backward(stream, unit);
    }
    self_->send(setup_.shard_manager, atom::gradients_ready_v, pass, unit, stream.record());
  }
  end_pass(pass);
}

void WorkerState::run_whole(Pass pass) {
  auto& stream = *setup_.replica->compute;
  {
    const auto span = setup_.stream_row.span(
        stream, {metrics::SpanKind::compute, "forward and backward", "", pass / setup_.accumulate});
    setup_.replica->train->run(stream);
  }
  const auto done = stream.record();
  for (UnitId unit = units() - 1; unit >= 0; --unit)
    self_->send(setup_.shard_manager, atom::gradients_ready_v, pass, unit, done);
  end_pass(pass);
}

void WorkerState::end_pass(Pass pass) {
  auto& stream = *setup_.replica->compute;
  auto& flight = *passes_.at(pass);
  flight.ended = stream.record();
  setup_.replica->train->read_outputs(stream, &flight.outputs);
  announce_done(Purpose::train, pass);
  ++next_pass_;
  enqueuing_ = false;
  begin_pass();
}

void WorkerState::announce_done(Purpose purpose, std::int64_t index) {
  setup_.replica->compute->on_complete(
      [me = worker_actor{self_}, purpose, index](const Status& status) {
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
  self_->send(setup_.loader, atom::credit_v, setup_.replica->rank, flight.batch);
  const auto micro = pass % setup_.accumulate;
  if (micro == 0)
    step_ = WorkerStep{.step = pass / setup_.accumulate, .begin = flight.began->time()};
  step_.loss += flight.outputs.loss / static_cast<double>(setup_.accumulate);
  step_.correct += std::llround(flight.outputs.correct);
  step_.samples += flight.batch->samples;
  step_.busy += flight.ended->time() - flight.began->time();
  step_.data_wait += flight.fed->time() - flight.asked->time();
  step_.end = flight.ended->time();
  if (micro + 1 == setup_.accumulate)
    finish_step(step_.step);
}

void WorkerState::finish_step(std::int64_t step) {
  if (setup_.scales_loss || std::isfinite(step_.loss))
    self_->send(setup_.shard_manager, atom::done_v, step_);
  else
    fail(Error{Errc::numeric,
               fmt::format("the loss is {}{}", step_.loss, advice(setup_.precision)),
               {.step = step}});
  step_ = {};
}

void WorkerState::begin_evaluation(std::int64_t step, const EventPtr& statistics) {
  auto& stream = *setup_.replica->compute;
  if (statistics)
    stream.wait(statistics);
  for (UnitId unit = 0; unit < units(); ++unit)
    setup_.replica->evaluate->refresh(stream, unit);
  evaluation_ = {.rank = setup_.replica->rank, .step = step};
  tested_ = 0;
  self_->send(setup_.loader, atom::evaluate_v, setup_.replica->rank);
}

void WorkerState::evaluate_batch(const MicroBatchPtr& batch) {
  auto& stream = *setup_.replica->compute;
  auto& executable = *setup_.replica->evaluate;
  auto& flight = *(tests_[batch->index] = std::make_unique<Flight>());
  flight.batch = batch;
  stream.wait(batch->ready);
  executable.set_batch(batch->view);
  {
    const auto span = setup_.stream_row.span(stream, {metrics::SpanKind::compute, "evaluate"});
    executable.run(stream);
  }
  executable.read_outputs(stream, &flight.outputs);
  announce_done(Purpose::evaluate, batch->index);
}

void WorkerState::finish_test_batch(std::int64_t index) {
  const auto node = tests_.extract(index);
  if (node.empty())
    return;
  const auto& [batch, outputs, asked, fed, began, ended] = *node.mapped();
  self_->send(setup_.loader, atom::credit_v, setup_.replica->rank, batch);
  if (batch->samples > 0) { // the mean of no samples is not a number
    evaluation_.loss_sum += outputs.loss * static_cast<double>(batch->samples);
    evaluation_.correct += std::llround(outputs.correct);
    evaluation_.samples += batch->samples;
  }
  if (++tested_ == setup_.test_batches)
    self_->send(setup_.coordinator, atom::evaluated_v, evaluation_);
}

void WorkerState::fail(Error error) {
  error.where.actor = name;
  error.where.rank = setup_.replica->rank;
  if (error.where.step < 0)
    error.where.step = next_pass_ / setup_.accumulate;
  self_->send(setup_.coordinator, atom::failed_v, std::move(error));
}

} // namespace troupe::actors
