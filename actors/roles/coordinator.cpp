#include "actors/roles/coordinator.hpp"

#include "actors/membership/blame.hpp"
#include "actors/roles/traced.hpp"

#include <fmt/format.h>

#include <algorithm>

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
      steps_{.plan = setup_.plan,
             .ranks = setup_.generation.world_size(),
             .committed = setup_.first_step},
      balancer_{std::move(setup_.balancer)},
      checkpoints_{.writers = setup_.is_sharded ? steps_.ranks : 1}, totals_{setup_.totals} {
  checkpoints_.wanted = setup_.takes_over && setup_.plan.saves();
  totals_.begin(setup_.info, setup_.before);
  if (totals_.sampled <= setup_.first_step) // else the sample is written again
    sampling_.last = totals_.sampled;
  if (const auto& slice_assignment = balancer_.slice_assignment(); slice_assignment.is_on_demand())
    async_ = AsyncSteps{{slice_assignment, setup_.first_step, setup_.wait_tolerance},
                        StepVotes{steps_.ranks}};
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
      [this](atom::measure, std::int32_t rank, double peak) { ranks_.take_peak(rank, peak); },
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
             const training::StepResults& by_rank) {
        if (!assigns_to(rank))
          return;
        if (const auto of_all = async_->votes.propose(rank, step, by_rank))
          for (const auto& [to, member] : ranks_.all)
            self_->send(member.parameter_server(), atom::decided_v, step, *of_all);
      },
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
  steps_.stopping = true;
  if (phase_ == Phase::training && steps_.committed == steps_.granted)
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
  if (steps_.committed != steps_.granted || sampling_.runs || checkpoints_.writing ||
      !synchronize())
    return;
  if ((setup_.dies_with_a_node || halts_.are_saved) && setup_.plan.saves() &&
      checkpoints_.saved < steps_.committed) {
    checkpoints_.pause_begin = Clock::now();
    enter(Phase::saving);
    checkpoints_.begin(steps_.committed);
    return save_chunks(); // for the next generation; answers when they are saved
  }
  for (auto& promise : std::exchange(halts_.promises, {}))
    promise.deliver();
}

/// Records the steps that some ranks have reported: all ranks had voted for them, including those
/// that can no longer report.
RunTotalsPtr CoordinatorState::release() {
  while (!steps_.reports.empty() && steps_.reports.begin()->first == steps_.committed)
    record_step(steps_.commit(steps_.committed));
  phase_ = Phase::ended;
  totals_.seconds += seconds(Clock::now() - begin_);
  totals_.committed = steps_.committed;
  const auto& summary = totals_.summary;
  totals_.run = {summary.loss, summary.test_loss, summary.accuracy, totals_.run.epoch};
  return std::make_shared<const RunTotals>(totals_);
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
  ranks_.all[number] = std::move(rank);
  begin_if_ready();
}

void CoordinatorState::begin_if_ready() {
  if (phase_ != Phase::joining || !promise_ || std::ssize(ranks_.all) != steps_.ranks)
    return;
  begin_ = Clock::now();
  for (const auto* rank : ranks_.one_per_node())
    self_->send(rank->metrics, atom::join_v, ranks_.node_statuses(setup_.info.version),
                heartbeat_actor{setup_.metrics});
  // First, what was due when the last generation ended: its last steps may not be saved or
  // evaluated.
  if (steps_.is_over() && setup_.generation.is_first())
    return resume_training();
  if (steps_.stopping)
    return save_if_due();
  if (setup_.plan.evaluation_due(steps_.committed) && totals_.run.epoch.steps > 0)
    return reach_pause();
  if (steps_.is_over())
    return sample_if_due();
  checkpoints_.wanted ? save_if_due() : resume_training();
}

void CoordinatorState::resume_training() {
  if (steps_.is_over()) { // all steps are done
    phase_ = Phase::finishing;
    return conclude();
  }
  if (!assign())
    return;
  enter(Phase::training);
  last_commit_ = Clock::now(); // excludes the pause from the next step's time
  grant();
}

void CoordinatorState::grant() {
  if (async_)
    return assign_work();
  if (!halts_.promises.empty())
    return answer_halts();
  if (!steps_.grant(std::min(steps_.pause(balancer_), steps_.committed + setup_.window)))
    return;
  for (const auto& [number, rank] : ranks_.all)
    self_->send(rank.worker, atom::advance_v, steps_.granted);
}

void CoordinatorState::commit(const StepReport& report) {
  if (!ranks_.all.contains(report.rank))
    return; // the sender is no role of this generation
  const auto step = report.worker.step;
  ranks_.all.at(report.rank).add(report);
  balancer_.add(report.rank, report.worker.busy);
  if (!steps_.add(report) || phase_ == Phase::ended)
    return;
  const auto paused = steps_.pause(balancer_);
  record_step(steps_.commit(step));
  if (setup_.agree(step))
    steps_.agreed = steps_.committed;
  if (steps_.committed == paused)
    reach_pause();
  else
    grant();
}

/// Returns whether all ranks have the same state. If not, synchronizes them, and then calls
/// reach_pause() or answer_halts() again.
bool CoordinatorState::synchronize() {
  if (steps_.agreed == steps_.committed)
    return true;
  if (std::exchange(steps_.synchronizes, true))
    return false;
  const auto answered = after(ranks_.all.size(), [this] {
    steps_.synchronizes = false;
    steps_.agreed = steps_.committed;
    halts_.promises.empty() ? reach_pause() : answer_halts();
  });
  for (const auto& [number, rank] : ranks_.all)
    self_->request(rank.synchronous(), caf::infinite, atom::synchronize_v, steps_.committed)
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
  const auto next = balancer_.next(steps_.committed);
  if (!next)
    return true;
  const auto answered = after(2 * ranks_.all.size(),
                              [this] { steps_.is_over() ? save_if_due() : resume_training(); });
  const auto tell = [&](const auto& role) {
    self_->request(role, caf::infinite, atom::assign_v, *next)
        .then(answered, [](const caf::error&) {}); // the rank has failed, and reports it itself
  };
  for (const auto& [number, rank] : ranks_.all) {
    tell(rank.worker);
    tell(rank.synchronous());
  }
  return false;
}

void CoordinatorState::reach_pause() {
  // A checkpoint or a sample that is due may need the same state on all ranks.
  const bool needs_one_state = steps_.is_over() || checkpoints_.wanted || balancer_.reassigns() ||
                               checkpoints_.next.is_best ||
                               setup_.plan.evaluation_due(steps_.committed) ||
                               setup_.plan.checkpoint_due(steps_.committed);
  if (needs_one_state && !synchronize())
    return;
  if (setup_.plan.evaluation_due(steps_.committed) && totals_.run.epoch.steps > 0) {
    enter(Phase::evaluating);
    evaluation_begin_ = Clock::now();
    for (const auto& [number, rank] : ranks_.all)
      self_->send(rank.shard_manager, atom::evaluate_v, steps_.committed);
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
  record(totals_.end_epoch({.epoch = setup_.plan.epoch_of(steps_.committed - 1),
                            .step = steps_.committed - 1,
                            .test_loss = results.loss,
                            .test_accuracy = results.accuracy,
                            .test_seconds = seconds(Clock::now() - evaluation_begin_)}));
  // For this step's checkpoint, if any.
  checkpoints_.next.results = training::to_metadata(results);
  checkpoints_.next.is_best = totals_.best.beat(results);
  sample_if_due();
}

} // namespace troupe::actors
