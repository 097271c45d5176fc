#include "actors/roles/async_shard_manager.hpp"

#include "actors/roles/detail/attend.hpp"
#include "actors/roles/traced.hpp"

namespace troupe::actors {

using collectives::Mail;
using collectives::MailPtr;
using metrics::CollectiveKind;

AsyncShardManagerState::AsyncShardManagerState(shard_manager_actor::pointer self,
                                               AsyncShardManagerSetup setup)
    : self_{self}, setup_{std::move(setup)}, exchange_{setup_.exchange},
      saver_{self, exchange_, setup_.exchange.replica, setup_.saver}, owner_{setup_.owner},
      reader_{setup_.exchange.replica, setup_.post}, rules_{letter_rules()} {}

engine::LetterRules AsyncShardManagerState::letter_rules() const {
  return engine::letter_rules(state(), setup_.exchange.dealing.slices(), owner_->published());
}

shard_manager_actor::behavior_type AsyncShardManagerState::make_behavior() {
  attend(*setup_.post, replica().device(), replica().rank, me());
  return traced<shard_manager_actor>(
      setup_.row, [this](atom::join, const worker_actor& worker) { worker_ = worker; },
      [this](atom::need_parameters, const Use& use) {
        requests_.push_back(use);
        serve();
      },
      [](atom::released, const Use&, const EventPtr&) {}, // whole copies stay
      [this](atom::gradients_ready, Pass pass, UnitId unit, const EventPtr& event) {
        gradients_ready(pass, unit, event);
      },
      [](atom::done, const WorkerStep&, const SpansPtr&) {}, // COORDINATOR is told
      [this](atom::deliver, const MailPtr& mail) { open(mail); },
      [this](atom::propose, std::int64_t step) {
        self_->send(setup_.saver.coordinator, atom::propose_v,
                    StepFound{.rank = replica().rank,
                              .step = step,
                              .squared_norm = found_->squared_norm,
                              .found_inf = found_->loss_scale.found_inf});
      },
      [this](atom::decided, const StepFound& of_all) { prepare(of_all); },
      [this](atom::vote, std::int64_t step) {
        self_->send(setup_.saver.coordinator, atom::vote_v, replica().rank, step);
      },
      [this](atom::advance, std::int64_t step) { apply(step); },
      [this](atom::done, std::int64_t step) { finish_step(step); },
      [this](atom::failed, Error error) { fail(std::move(error)); },
      [](atom::deal, const Redealing&) {}, [](atom::meet, std::int64_t) {}, // always met
      [this](atom::evaluate, std::int64_t step) { evaluate(step); },
      [this](atom::save, std::int64_t step) {
        take_rest(step); // a pass has left its own there
        return saver_.save(step);
      },
      [this](atom::save, std::int64_t step, std::uint64_t piece) {
        take_rest(step);
        return saver_.write_piece(step, piece);
      },
      [this](atom::digest, std::int64_t step, std::uint64_t piece) {
        take_rest(step);
        return saver_.hash_piece(step, piece);
      },
      [this](atom::contribute, std::int64_t, std::uint64_t piece) {
        exchange_.gather_piece(piece, nullptr);
      },
      [this](atom::generate, std::int64_t step, std::uint64_t piece) {
        take_rest(step);
        return saver_.give_piece(step, piece);
      },
      [this](atom::saved, std::int64_t step) { saver_.copied(step); },
      [this](atom::abort, const Error& reason) { return abort(reason); },
      [this](atom::abort) { aborted_.deliver(); });
}

void AsyncShardManagerState::send(Mail mail, int to) {
  mail.from = replica().rank;
  mail.to = to;
  setup_.post->send(std::move(mail));
}

AsyncShardManagerState::Reading AsyncShardManagerState::reading_for(const Use& use) const {
  return {use.purpose, use.purpose == Purpose::training ? use.index : evaluated_};
}

engine::Version AsyncShardManagerState::wanted_for(const Reading& reading) const {
  const bool trains = reading.purpose == Purpose::training;
  return trains ? setup_.exchange.dealing.step_of(reading.index) : reading.index;
}

/// Parameters are read once for all that a pass asks for, all buckets together.
void AsyncShardManagerState::serve() {
  while (!requests_.empty()) {
    const auto& use = requests_.front();
    if (const auto needed = reading_for(use); reading_ != needed)
      return begin_reading(needed);
    if (!asked_.empty())
      return;
    // Backward writes where gradients of the pass before were read.
    self_->send(worker_, atom::parameters_ready_v, use,
                use.phase == Phase::forward ? read_ : replica().communication->record());
    requests_.pop_front();
  }
}

/// All that the pass before asked for has been answered, and its gradients are still to come: what
/// is enqueued now runs behind it, as WORKER enqueues one pass after the other.
void AsyncShardManagerState::begin_reading(const Reading& next) {
  if (!asked_.empty())
    return;
  reading_ = next;
  for (int owner = 0; owner < ranks(); ++owner) {
    asked_.insert(owner);
    send(engine::Pull{.have = reader_.read(owner), .wanted = wanted_for(next)}.to_mail(), owner);
  }
}

void AsyncShardManagerState::take_parameters(const MailPtr& mail) {
  reader_.take(mail);
  asked_.erase(mail->from);
  if (!asked_.empty())
    return;
  take_rest(owner_->published());
  read_ = replica().communication->record();
  serve();
}

void AsyncShardManagerState::take_rest(engine::Version version) {
  if (const auto taken = reader_.take_rest(version, owner_->scale()); !taken)
    fail(taken.error());
}

void AsyncShardManagerState::gradients_ready(Pass pass, UnitId unit, const EventPtr& event) {
  replica().communication->wait(event);
  const auto& dealing = setup_.exchange.dealing;
  const engine::SliceOf slice{dealing.step_of(pass), dealing.place(pass)};
  const auto number = state().plan().bucket_of[static_cast<std::size_t>(unit)];
  const auto& bucket = state().plan().buckets[number];
  if (unit == bucket.units.first && !state().is_frozen(bucket))
    give(bucket, slice);
  if (unit > 0 || slice.slice > 0 || !state().commits_statistics())
    return;
  if (const auto bytes = reader_.give_statistics(slice.step); !bytes)
    fail(bytes.error());
  else
    count(CollectiveKind::broadcast, *bytes);
}

void AsyncShardManagerState::give(const collectives::Bucket& bucket, engine::SliceOf slice) {
  const auto number = state().plan().bucket_of[static_cast<std::size_t>(bucket.units.first)];
  if (const auto bytes = reader_.give(bucket, number, slice); !bytes)
    fail(bytes.error());
  else
    count(CollectiveKind::reduce_scatter, *bytes);
}

void AsyncShardManagerState::evaluate(std::int64_t step) {
  evaluated_ = step;
  self_->send(worker_, atom::evaluate_v, step, replica().communication->record());
}

/// Whatever the streams have still to tell comes before.
caf::result<void> AsyncShardManagerState::abort(const Error& reason) {
  replica().abort(reason);
  aborted_ = self_->make_response_promise<void>();
  replica().communication->wait(owner_->stream().record());
  replica().communication->on_complete(
      [me = me()](const Status&) { caf::anon_send(me, atom::abort_v); });
  return aborted_;
}

void AsyncShardManagerState::fail(Error error) {
  error.where.actor = name;
  if (error.where.rank < 0)
    error.where.rank = replica().rank;
  if (error.where.step < 0)
    error.where.step = owner_->version();
  self_->send(setup_.saver.coordinator, atom::failed_v, std::move(error));
}

} // namespace troupe::actors
