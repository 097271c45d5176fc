#include "actors/roles/coordinator.hpp"

#include "actors/membership/blame.hpp"
#include "actors/roles/detail/step_summary.hpp"
#include "actors/roles/traced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace troupe::actors {

namespace {

/// Returns how the training set of a rank differs from the leader's; empty: it does not.
std::string data_difference(const RankInfo& there, const CoordinatorSetup& here) {
  if (there.samples != here.samples)
    return fmt::format("{} training samples here, {} at the leader", there.samples, here.samples);
  if (there.data != here.data)
    return fmt::format("the fingerprint of the training data is {} here and {} at the "
                       "leader: data.root must contain the same files on every node",
                       there.data, here.data);
  return {};
}

} // namespace

CoordinatorState::CoordinatorState(coordinator_actor::pointer self, CoordinatorSetup setup)
    : self_{self}, setup_{std::move(setup)}, ranks_{setup_.generation, setup_.first_step},
      steps_{setup_.first_step, setup_.plan.total_steps(), setup_.generation.world_size()},
      balancer_{std::move(setup_.balancer)},
      // A later sample is written again.
      samples_{setup_.totals.sampled <= setup_.first_step ? setup_.totals.sampled : -1},
      checkpoints_{setup_.is_sharded ? static_cast<std::size_t>(setup_.generation.world_size()) : 1,
                   setup_.takes_over && setup_.plan.saves()},
      tally_{setup_.plan, setup_.info, setup_.totals, setup_.before, made_} {
  if (const auto& slice_assignment = balancer_.slice_assignment(); slice_assignment.is_on_demand())
    async_ = AsyncSteps{{slice_assignment, setup_.first_step, setup_.wait_tolerance},
                        StepVotes{setup_.generation.world_size()}};
}

coordinator_actor::behavior_type CoordinatorState::make_behavior() {
  return traced<coordinator_actor>(
      setup_.row,
      [this](atom::join, const RankInfo& info, const worker_actor& worker,
             const shard_manager_actor& shard_manager, const metrics_actor& metrics) {
        join({info, worker, shard_manager, metrics});
      },
      [this](atom::run) -> caf::result<RunOutcomePtr> {
        promise_ = self_->make_response_promise<RunOutcomePtr>();
        begin_if_ready();
        return *promise_;
      },
      [this](atom::step_committed, const StepReport& report) { commit(report); },
      [this](atom::evaluated, const EvaluationReport& report) { count_evaluation(report); },
      [this](atom::measure, std::int32_t rank, double peak) {
        if (setup_.generation.has(rank))
          ranks_.take_peak(rank, peak);
      },
      [this](atom::saved, const ShardOutcome& part) { count_shard(part); },
      [this](atom::failed, const Error& error) {
        is_between_nodes(error.code) ? suspect(error) : fail(error);
      },
      [this](atom::failed, double loss) { self_->send(setup_.metrics, atom::failed_v, loss); },
      [this](atom::assign, std::int32_t rank) {
        if (!assigns_to(rank))
          return;
        async_->items.want(rank);
        assign_work();
      },
      [this](atom::done, std::int32_t rank, Pass slice) { complete(rank, slice); },
      [this](atom::propose, std::int32_t rank, std::int64_t step,
             const training::StepResults& by_rank) { propose(rank, step, by_rank); },
      [this](atom::vote, std::int32_t rank, std::int64_t step) {
        if (!assigns_to(rank))
          return;
        async_->votes.vote(step);
        apply();
      },
      [this](atom::stop, const Error& reason) { stop(reason); },
      [this](atom::halt, bool save) { return halt(save); },
      [this](atom::abort) { is_void_ = true; }, [this](atom::release) { return release(); },
      [this](atom::status) { return status(); });
}

void CoordinatorState::stop(const Error& reason) {
  if (reason.code != Errc::stopped)
    ending_ = reason;
  steps_.stop();
  if (phase_ == Phase::training && steps_.is_idle())
    reach_pause();
}

/// Answered by grant() before training would continue.
caf::result<void> CoordinatorState::halt(bool save) {
  halts_.are_saved = halts_.are_saved || save;
  auto& promise = halts_.promises.emplace_back(self_->make_response_promise<void>());
  if (phase_ == Phase::training)
    grant();
  return promise;
}

/// A node that leaves takes its part of the state with it. If no other node has a copy, the state
/// must be saved to a checkpoint first.
void CoordinatorState::answer_halts() {
  if (!steps_.is_idle() || samples_.is_busy() || checkpoints_.is_writing() || !synchronize())
    return;
  if ((setup_.dies_with_a_node || halts_.are_saved) && setup_.plan.saves() &&
      checkpoints_.saved() < steps_.committed()) {
    checkpoints_.pause(Clock::now());
    enter(Phase::saving);
    checkpoints_.begin(steps_.committed());
    return save_chunks(); // for the next generation; answers when they are saved
  }
  for (auto& promise : std::exchange(halts_.promises, {}))
    promise.deliver();
}

/// Records the steps that some ranks have reported: all ranks had voted for them, including those
/// that can no longer report.
RunTotalsPtr CoordinatorState::release() {
  while (steps_.is_next_reported())
    record_step(steps_.commit(steps_.committed()));
  phase_ = Phase::ended;
  return std::make_shared<const RunTotals>(tally_.leave(steps_.committed(), Clock::now()));
}

void CoordinatorState::join(JoinedRank rank) {
  const auto& generation = setup_.generation;
  const auto number = rank.info.rank;
  if (!generation.has(number))
    return; // the sender is no role of this generation
  if (const auto difference = data_difference(rank.info, setup_); !difference.empty())
    // It would end the job if it were the leader's.
    return fail({Errc::data, difference, {.rank = number}},
                setup_.membership && generation.node_of(number).address != generation.leader());
  ranks_.join(std::move(rank));
  begin_if_ready();
}

void CoordinatorState::begin_if_ready() {
  if (phase_ != Phase::joining || !promise_ || !ranks_.are_all())
    return;
  tally_.begin(Clock::now());
  for (const auto* rank : ranks_.one_per_node())
    self_->send(rank->metrics, atom::join_v, ranks_.node_statuses(setup_.info.version),
                heartbeat_actor{setup_.metrics});
  go_on();
}

/// Does first what was due when the last generation ended: its last steps may not be saved or
/// evaluated.
void CoordinatorState::go_on() {
  const bool is_first = setup_.generation.is_first();
  if (steps_.is_over() && is_first)
    return resume_training();
  if (steps_.is_stopped())
    return save_if_due();
  if (setup_.plan.evaluation_due(steps_.committed()) && tally_.is_in_epoch())
    return reach_pause();
  if (steps_.is_over())
    return sample_if_due();
  checkpoints_.is_wanted() ? save_if_due() : resume_training();
}

void CoordinatorState::resume_training() {
  if (steps_.is_over()) { // all steps are done
    phase_ = Phase::finishing;
    return conclude();
  }
  if (!assign())
    return;
  enter(Phase::training);
  tally_.resume(Clock::now());
  grant();
}

std::int64_t CoordinatorState::pause() const {
  if (steps_.is_stopped())
    return steps_.granted();
  const auto pause = setup_.plan.next_pause(steps_.committed());
  return std::min(pause, balancer_.next_look(steps_.committed()).value_or(pause));
}

void CoordinatorState::grant() {
  if (async_)
    return assign_work();
  if (!halts_.promises.empty())
    return answer_halts();
  if (!steps_.grant(std::min(pause(), steps_.committed() + setup_.window)))
    return;
  for (const auto& [number, rank] : ranks_)
    self_->send(rank.worker, atom::advance_v, steps_.granted());
}

void CoordinatorState::commit(const StepReport& report) {
  if (!ranks_.has(report.rank))
    return; // the sender is no role of this generation
  const auto step = report.worker.step;
  ranks_.add(report);
  balancer_.add(report.rank, report.worker.busy);
  if (!steps_.add(report) || phase_ == Phase::ended)
    return;
  const auto paused = pause();
  record_step(steps_.commit(step));
  if (setup_.agree(step))
    steps_.note_agreement();
  if (steps_.committed() == paused)
    reach_pause();
  else
    grant();
}

void CoordinatorState::record_step(const std::vector<StepReport>& reports) {
  CollectiveTime collective;
  auto row = summarize(reports, collective);
  const auto step = row.step;
  row.time = std::chrono::system_clock::now();
  row.lr = setup_.learning_rate(step);
  if (async_)
    row.item_seconds = async_->items.take_longest(step);
  if (setup_.records_reads)
    for (const auto& report : reports) {
      std::ranges::copy(report.rounds, std::back_inserter(row.rounds));
      if (async_)
        row.reads.push_back(report.reads);
    }
  if (const auto& assignment = balancer_.slice_assignment();
      balancer_.reassigns() && step == std::max(setup_.first_step, assignment.first_step()))
    row.slice_assignment = assignment.counts();
  row.peak_operations = ranks_.peak_operations();
  tally_.add(row, collective, Clock::now());
  record(std::move(row));
  if (setup_.plan.epoch_ends(step + 1) && !setup_.plan.evaluation_due(step + 1))
    record(tally_.end_epoch({.step = step, .time = std::chrono::system_clock::now()}));
  if (step == setup_.first_step && !setup_.generation.is_first())
    record_recovery();
  tell_workers_status();
}

void CoordinatorState::record_recovery() {
  const auto& change = setup_.generation.change;
  record(metrics::RecoveryRecord{
      .time = std::chrono::system_clock::now(),
      .generation = setup_.generation.number,
      .reason = change.reason,
      .is_loss = change.is_loss,
      .step = setup_.first_step,
      .steps_repeated = std::max<std::int64_t>(0, setup_.totals.committed - setup_.first_step),
      .world_size = setup_.generation.world_size(),
      .detect = change.detect,
      .halt = change.halt,
      .heal = setup_.heal,
      .connect = setup_.connect,
      .first_step = seconds(Clock::now() - made_)});
}

/// Returns whether all ranks have the same state. If not, synchronizes them, and then calls
/// reach_pause() or answer_halts() again.
bool CoordinatorState::synchronize() {
  if (steps_.agree())
    return true;
  if (std::exchange(synchronizes_, true))
    return false;
  const auto answered = after(ranks_.size(), [this] {
    synchronizes_ = false;
    steps_.note_agreement();
    halts_.promises.empty() ? reach_pause() : answer_halts();
  });
  for (const auto& [number, rank] : ranks_)
    self_->request(rank.synchronous(), caf::infinite, atom::synchronize_v, steps_.committed())
        .then(answered, [](const caf::error&) {}); // the rank has failed, and reports it itself
  return false;
}

/// Returns a function that calls `then` when it is called the last of this many times, unless the
/// job has ended.
std::function<void()> CoordinatorState::after(std::size_t answers, std::function<void()> then) {
  return [this, left = std::make_shared<std::size_t>(answers), then = std::move(then)] {
    if (--*left == 0 && phase_ != Phase::ended)
      then();
  };
}

/// Returns whether the slice assignment stays as it is. If not, sends the new one to all ranks, and
/// resumes training when all use it.
bool CoordinatorState::assign() {
  const auto next = balancer_.next(steps_.committed());
  if (!next)
    return true;
  const auto answered =
      after(2 * ranks_.size(), [this] { steps_.is_over() ? save_if_due() : resume_training(); });
  const auto tell = [&](const auto& role) {
    self_->request(role, caf::infinite, atom::assign_v, *next)
        .then(answered, [](const caf::error&) {}); // the rank has failed, and reports it itself
  };
  for (const auto& [number, rank] : ranks_) {
    tell(rank.worker);
    tell(rank.synchronous());
  }
  return false;
}

/// Whether the actions due after the last step need the same state on all ranks.
bool CoordinatorState::needs_one_state() const {
  return steps_.is_over() || checkpoints_.is_wanted() || checkpoints_.is_next_best() ||
         balancer_.reassigns() || setup_.plan.evaluation_due(steps_.committed()) ||
         setup_.plan.checkpoint_due(steps_.committed());
}

void CoordinatorState::reach_pause() {
  if (needs_one_state() && !synchronize())
    return;
  if (setup_.plan.evaluation_due(steps_.committed()) && tally_.is_in_epoch()) {
    enter(Phase::evaluating);
    evaluation_begin_ = Clock::now();
    for (const auto& [number, rank] : ranks_)
      self_->send(rank.shard_manager, atom::evaluate_v, steps_.committed());
    return;
  }
  sample_if_due();
}

void CoordinatorState::count_evaluation(const EvaluationReport& report) {
  evaluations_.push_back(report);
  if (phase_ != Phase::evaluating || std::ssize(evaluations_) < setup_.generation.world_size())
    return;
  std::ranges::sort(evaluations_, {}, &EvaluationReport::rank);
  const auto all = total(evaluations_);
  evaluations_.clear();
  const training::TestResults results{ratio(all.loss_sum, static_cast<double>(all.right.rows)),
                                      all.right.ratio()};
  record(tally_.end_epoch({.step = steps_.committed() - 1,
                           .time = std::chrono::system_clock::now(),
                           .test_loss = results.loss,
                           .test_accuracy = results.accuracy,
                           .test_seconds = seconds(Clock::now() - evaluation_begin_)}));
  checkpoints_.evaluated(training::to_metadata(results), tally_.beat(results));
  sample_if_due();
}

void CoordinatorState::end(std::string_view status) {
  phase_ = Phase::ended;
  tally_.end(status, steps_.committed(), ranks_, Clock::now());
  const auto answer = [this](const RunOutcomePtr& outcome) {
    if (promise_)
      promise_->deliver(outcome);
  };
  // Without METRICS, the run's files are incomplete, so the run has failed.
  const auto lost = [this, answer](const caf::error& reason) {
    if (!tally_.outcome().error)
      tally_.fail(
          {Errc::internal,
           "the metrics actor died before the run's logs were complete: " + caf::to_string(reason),
           {.actor = "metrics", .step = steps_.committed() - 1}});
    answer(std::make_shared<const RunOutcome>(tally_.outcome()));
  };
  self_
      ->request(setup_.metrics, caf::infinite, atom::finish_v,
                RunOutcomePtr{std::make_shared<const RunOutcome>(tally_.outcome())})
      .then(answer, lost);
}

} // namespace troupe::actors
