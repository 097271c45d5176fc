#include "actors/roles/async_shard_manager.hpp"

#include "actors/roles/detail/subscribe.hpp"
#include "actors/roles/traced.hpp"

namespace troupe::actors {

using collectives::Message;
using collectives::MessagePtr;
using metrics::CollectiveKind;

AsyncShardManagerState::AsyncShardManagerState(shard_manager_actor::pointer self,
                                               AsyncShardManagerSetup setup)
    : self_{self}, setup_{std::move(setup)}, reducer_{setup_.reducer},
      saver_{self, reducer_, setup_.reducer.rank_state, setup_.saver}, owner_{setup_.owner},
      reader_{setup_.reducer.rank_state, setup_.point_to_point}, rules_{message_rules()} {}

training::MessageRules AsyncShardManagerState::message_rules() const {
  return training::message_rules(state(), setup_.reducer.slice_assignment.slices(),
                                 owner_->published());
}

shard_manager_actor::behavior_type AsyncShardManagerState::make_behavior() {
  subscribe(*setup_.point_to_point, rank_state().device(), rank_state().rank, me());
  return traced<shard_manager_actor>(
      setup_.row, [this](atom::join, const worker_actor& worker) { worker_ = worker; },
      [this](atom::need_parameters, const ParameterRequest& request) {
        requests_.push_back(request);
        serve();
      },
      [](atom::released, const ParameterRequest&, const EventPtr&) {}, // whole copies stay
      [this](atom::gradients_ready, Pass pass, UnitId unit, const EventPtr& event) {
        gradients_ready(pass, unit, event);
      },
      [this](atom::done, const WorkerStep& slice, const SpansPtr&) {
        measured_[slice.step].add(slice);
      },
      [this](atom::deliver, const MessagePtr& message) { open(message); },
      [this](atom::propose, std::int64_t step) {
        self_->send(setup_.saver.coordinator, atom::propose_v, rank_state().rank, step, *found_);
      },
      [this](atom::decided, std::int64_t step, const training::StepResults& of_all) {
        prepare(step, of_all);
      },
      [this](atom::vote, std::int64_t step) {
        self_->send(setup_.saver.coordinator, atom::vote_v, rank_state().rank, step);
      },
      [this](atom::advance, std::int64_t step) { apply(step); },
      [this](atom::done, std::int64_t step) { finish_step(step); },
      [this](atom::failed, Error error) { fail(std::move(error)); },
      [](atom::assign, const data::SliceAssignment&) {}, // slices are assigned on demand
      [](atom::synchronize, std::int64_t) {},            // ranks always have one state
      [this](atom::evaluate, std::int64_t step) { evaluate(step); },
      [this](atom::save, std::int64_t step) {
        take_rest(step); // rank_state has the version that the last pass read
        return saver_.save(step);
      },
      [this](atom::save, std::int64_t step, std::uint64_t chunk) {
        take_rest(step);
        return saver_.write_chunk(step, chunk);
      },
      [this](atom::digest, std::int64_t step, std::uint64_t chunk) {
        take_rest(step);
        return saver_.hash_chunk(step, chunk);
      },
      [this](atom::contribute, std::int64_t, std::uint64_t chunk) {
        reducer_.copier().gather(chunk, nullptr);
      },
      [this](atom::generate, std::int64_t step, std::uint64_t chunk) {
        take_rest(step);
        return saver_.give_chunk(step, chunk);
      },
      [this](atom::saved, std::int64_t step) { saver_.copied(step); },
      [this](atom::abort, const Error& reason) { return abort(reason); },
      [this](atom::abort) { aborted_.deliver(); });
}

void AsyncShardManagerState::send(Message message, int to) {
  message.from = rank_state().rank;
  message.to = to;
  setup_.point_to_point->send(std::move(message));
}

AsyncShardManagerState::Reading
AsyncShardManagerState::reading_for(const ParameterRequest& request) const {
  return {request.pass_mode, request.pass_mode == PassMode::training ? request.index : evaluated_};
}

training::Version AsyncShardManagerState::wanted_for(const Reading& reading) const {
  const bool trains = reading.pass_mode == PassMode::training;
  return trains ? setup_.reducer.slice_assignment.step_of(reading.index) : reading.index;
}

/// Reads the parameters once for a whole pass, for all buckets together.
void AsyncShardManagerState::serve() {
  while (!requests_.empty()) {
    const auto& request = requests_.front();
    if (const auto needed = reading_for(request); reading_ != needed)
      return begin_reading(needed);
    if (!asked_.empty())
      return;
    // Backward writes where the gradients of the last pass were read.
    self_->send(worker_, atom::parameters_ready_v, request,
                request.phase == Phase::forward ? read_ : rank_state().communication->record());
    requests_.pop_front();
  }
}

/// All requests of the last pass are answered, and its gradients are still to come. Work enqueued
/// now runs after it, because WORKER enqueues one pass after the other.
void AsyncShardManagerState::begin_reading(const Reading& next) {
  if (!asked_.empty())
    return;
  reading_ = next;
  for (int owner = 0; owner < ranks(); ++owner) {
    asked_.insert(owner);
    send(training::Pull{.have = reader_.read(owner), .wanted = wanted_for(next)}.to_message(),
         owner);
  }
}

void AsyncShardManagerState::take_parameters(const MessagePtr& message) {
  reader_.take(message);
  asked_.erase(message->from);
  if (!asked_.empty())
    return;
  take_rest(owner_->published());
  read_ = rank_state().communication->record();
  serve();
}

void AsyncShardManagerState::take_rest(training::Version version) {
  if (const auto taken = reader_.take_rest(version, owner_->scale()); !taken)
    fail(taken.error());
}

void AsyncShardManagerState::gradients_ready(Pass pass, UnitId unit, const EventPtr& event) {
  rank_state().communication->wait(event);
  const auto& slice_assignment = setup_.reducer.slice_assignment;
  const data::WorkItem item{slice_assignment.step_of(pass), slice_assignment.place(pass),
                            rank_state().rank};
  const auto number = state().layout().plan().bucket_of[static_cast<std::size_t>(unit)];
  const auto& bucket = state().layout().plan().buckets[number];
  if (unit == bucket.units.first && !state().layout().is_frozen(bucket))
    give(bucket, item);
  if (unit > 0 || item.slice > 0 || !state().statistics().commits())
    return;
  if (const auto bytes = reader_.give_statistics(item.step); !bytes)
    fail(bytes.error());
  else
    count(CollectiveKind::broadcast, *bytes);
}

void AsyncShardManagerState::give(const training::Bucket& bucket, const data::WorkItem& item) {
  const auto number =
      state().layout().plan().bucket_of[static_cast<std::size_t>(bucket.units.first)];
  if (const auto bytes = reader_.give(bucket, number, item); !bytes)
    fail(bytes.error());
  else
    count(CollectiveKind::reduce_scatter, *bytes);
}

void AsyncShardManagerState::evaluate(std::int64_t step) {
  evaluated_ = step;
  self_->send(worker_, atom::evaluate_v, step, rank_state().communication->record());
}

/// All pending callbacks of the streams come before the answer.
caf::result<void> AsyncShardManagerState::abort(const Error& reason) {
  rank_state().abort(reason);
  aborted_ = self_->make_response_promise<void>();
  rank_state().communication->wait(owner_->stream().record());
  rank_state().communication->on_complete(
      [me = me()](const Status&) { caf::anon_send(me, atom::abort_v); });
  return aborted_;
}

void AsyncShardManagerState::fail(Error error) {
  error.where.actor = name;
  if (error.where.rank < 0)
    error.where.rank = rank_state().rank;
  if (error.where.step < 0)
    error.where.step = owner_->version();
  self_->send(setup_.saver.coordinator, atom::failed_v, std::move(error));
}

} // namespace troupe::actors
