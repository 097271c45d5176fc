#include "actors/roles/coordinator.hpp"

#include "actors/membership/blame.hpp"
#include "actors/roles/detail/step_summary.hpp"
#include "actors/roles/traced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace troupe::actors {

CoordinatorState::CoordinatorState(coordinator_actor::pointer self, CoordinatorSetup setup)
    : self_{self}, setup_{std::move(setup)},
      committed_{setup_.first_step}, granted_{setup_.first_step},
      balancer_{std::move(setup_.balancer)}, votes_{world_size()}, agreed_{setup_.first_step},
      epoch_{setup_.before.epoch}, totals_{setup_.totals}, summary_{setup_.info} {
  summary_.checkpoints = totals_.summary.checkpoints;
  summary_.checkpoint_failures = totals_.summary.checkpoint_failures;
  summary_.checkpoint_seconds = totals_.summary.checkpoint_seconds;
  summary_.checkpoint = totals_.summary.checkpoint;
  summary_.loss = setup_.before.loss;
  summary_.test_loss = setup_.before.test_loss;
  summary_.accuracy = setup_.before.accuracy;
  if (totals_.sampled <= committed_) // else the sample is written again
    sampled_ = totals_.sampled;
  measured_ = setup_.first_step; // peak rates were measured when the devices were opened
  save_wanted_ = setup_.takes_over && setup_.plan.saves();
  if (const auto& slice_assignment = balancer_.slice_assignment(); slice_assignment.is_on_demand())
    work_items_.emplace(slice_assignment, setup_.first_step, setup_.wait_tolerance);
}

coordinator_actor::behavior_type CoordinatorState::make_behavior() {
  return traced<coordinator_actor>(
      setup_.row,
      [this](atom::join, const RankInfo& info, const worker_actor& worker,
             const shard_manager_actor& shard_manager, const metrics_actor& metrics) {
        join(info, {info, worker, shard_manager, metrics});
      },
      [this](atom::run) -> caf::result<RunOutcomePtr> {
        promise_ = self_->make_response_promise<RunOutcomePtr>();
        begin_if_ready();
        return *promise_;
      },
      [this](atom::step_committed, const StepReport& report) { commit(report); },
      [this](atom::evaluated, const EvaluationReport& report) { count_evaluation(report); },
      [this](atom::measure, std::int32_t rank, double peak) { take_peak(rank, peak); },
      [this](atom::saved, const ShardOutcome& part) { count_shard(part); },
      [this](atom::failed, const Error& error) {
        is_between_nodes(error.code) ? suspect(error) : fail(error);
      },
      [this](atom::failed, double loss) { self_->send(setup_.metrics, atom::failed_v, loss); },
      [this](atom::assign, std::int32_t rank) {
        if (!assigns_to(rank))
          return;
        work_items_->want(rank);
        assign_work();
      },
      [this](atom::done, std::int32_t rank, Pass slice) { complete(rank, slice); },
      [this](atom::propose, std::int32_t rank, std::int64_t step,
             const training::StepResults& by_rank) { propose(rank, step, by_rank); },
      [this](atom::vote, std::int32_t rank, std::int64_t step) {
        if (!assigns_to(rank))
          return;
        votes_.vote(step);
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
  stopping_ = true;
  if (phase_ == Phase::training && committed_ == granted_)
    reach_pause();
}

/// Answered by grant() before training would continue.
caf::result<void> CoordinatorState::halt(bool save) {
  halts_saved_ = halts_saved_ || save;
  auto& promise = halts_.emplace_back(self_->make_response_promise<void>());
  if (phase_ == Phase::training)
    grant();
  return promise;
}

/// A node that leaves takes its part of the state with it. If no other node has a copy, the state
/// must be saved to a checkpoint first.
void CoordinatorState::answer_halts() {
  if (committed_ != granted_ || sampling_ || writing_ || !synchronize())
    return;
  if ((setup_.dies_with_a_node || halts_saved_) && saved_ < committed_ && setup_.plan.saves()) {
    pause_begin_ = Clock::now();
    enter(Phase::saving);
    writing_ = true;
    parts_ = {.step = committed_};
    return save_chunks(); // for the next generation; answers when they are saved
  }
  for (auto& promise : std::exchange(halts_, {}))
    promise.deliver();
}

/// Records the steps that some ranks have reported: all ranks had voted for them, including those
/// that can no longer report.
RunTotalsPtr CoordinatorState::release() {
  for (auto made = reports_.begin(); made != reports_.end() && made->first == committed_;
       made = reports_.erase(made))
    record_step(committed_++, made->second);
  phase_ = Phase::ended;
  totals_.seconds += seconds(Clock::now() - begin_);
  totals_.summary = summary_;
  totals_.committed = committed_;
  totals_.run = {summary_.loss, summary_.test_loss, summary_.accuracy, epoch_};
  return std::make_shared<const RunTotals>(totals_);
}

void CoordinatorState::join(const RankInfo& info, Member member) {
  if (!is_rank(info.rank))
    return; // the sender is no role of this generation
  if (info.samples != setup_.samples)
    return fail_node(
        {Errc::data,
         fmt::format("{} training samples here, {} at the leader", info.samples, setup_.samples),
         {.rank = info.rank}});
  if (info.data != setup_.data)
    return fail_node({Errc::data,
                      fmt::format("the fingerprint of the training data is {} here and {} at the "
                                  "leader: data.root must contain the same files on every node",
                                  info.data, setup_.data),
                      {.rank = info.rank}});
  members_[info.rank] = std::move(member);
  begin_if_ready();
}

void CoordinatorState::begin_if_ready() {
  if (phase_ != Phase::joining || !promise_ || std::ssize(members_) != world_size())
    return;
  begin_ = Clock::now();
  for (const auto& [rank, member] : members_)
    if (rank == setup_.generation.node_of(rank).first_rank)
      self_->send(member.metrics, atom::join_v, node_statuses(), heartbeat_actor{setup_.metrics});
  go_on();
}

/// Does first what was due when the last generation ended: its last steps may not be saved or
/// evaluated.
void CoordinatorState::go_on() {
  const bool is_first = setup_.generation.is_first();
  if (is_over() && is_first)
    return resume_training();
  if (stopping_)
    return save_if_due();
  if (setup_.plan.evaluation_due(committed_) && epoch_.steps > 0)
    return reach_pause();
  if (is_over())
    return sample_if_due();
  save_wanted_ ? save_if_due() : resume_training();
}

void CoordinatorState::resume_training() {
  if (is_over()) { // all steps are done
    phase_ = Phase::finishing;
    return conclude();
  }
  if (!assign())
    return;
  enter(Phase::training);
  last_commit_ = Clock::now(); // excludes the pause from the next step's time
  grant();
}

std::int64_t CoordinatorState::pause() const {
  if (stopping_)
    return granted_;
  const auto pause = setup_.plan.next_pause(committed_);
  return std::min(pause, balancer_.next_look(committed_).value_or(pause));
}

void CoordinatorState::grant() {
  if (work_items_)
    return assign_work();
  if (!halts_.empty())
    return answer_halts();
  const auto limit = std::min(pause(), committed_ + setup_.window);
  if (limit <= granted_)
    return;
  granted_ = limit;
  for (const auto& [rank, member] : members_)
    self_->send(member.worker, atom::advance_v, granted_);
}

void CoordinatorState::Member::add(const StepReport& report) {
  ++steps;
  busy += report.worker.busy;
  data_wait += report.worker.data_wait;
  collectives += collective_time(report) - report.overlapped;
  optimizer += report.optimizer;
  ready_batches = report.worker.ready_batches;
  memory = report.memory;
}

void CoordinatorState::commit(const StepReport& report) {
  if (!members_.contains(report.rank))
    return; // the sender is no role of this generation
  const auto step = report.worker.step;
  members_.at(report.rank).add(report);
  balancer_.add(report.rank, report.worker.busy);
  auto& reports = reports_[step];
  reports.push_back(report);
  if (std::ssize(reports) < world_size() || phase_ == Phase::ended)
    return;
  record_step(step, reports);
  reports_.erase(step);
  const auto paused = pause();
  committed_ = step + 1;
  if (setup_.agree(step))
    agreed_ = committed_;
  if (committed_ == paused)
    reach_pause();
  else
    grant();
}

void CoordinatorState::record_step(std::int64_t step, std::vector<StepReport>& reports) {
  // Sums must not depend on the order of arrival.
  std::ranges::sort(reports, {}, &StepReport::rank);
  CollectiveTime collective;
  auto row = summarize(reports, collective);
  row.epoch = setup_.plan.epoch_of(step);
  row.time = std::chrono::system_clock::now();
  row.lr = setup_.learning_rate(step);
  if (work_items_)
    row.item_seconds = work_items_->take_longest(step);
  if (setup_.records_reads)
    for (const auto& report : reports) {
      std::ranges::copy(report.rounds, std::back_inserter(row.rounds));
      if (work_items_)
        row.reads.push_back(report.reads);
    }
  if (begins_assignment(step))
    row.slice_assignment = balancer_.slice_assignment().counts();
  const auto now = Clock::now();
  row.seconds = seconds(now - std::exchange(last_commit_, now));
  step_seconds_ += row.seconds;
  row.peak_operations = peak_operations();
  if (row.peak_operations > 0 && row.seconds > 0)
    row.mfu = setup_.info.operations_per_step / row.seconds / row.peak_operations;
  totals_.collective += collective.total;
  totals_.overlapped += collective.overlapped;
  epoch_.add(row);
  totals_.steps.add(row);
  summary_.loss = row.loss;
  static_cast<metrics::LossScaling&>(summary_) = row;
  record(std::move(row));
  if (setup_.plan.epoch_ends(step + 1) && !setup_.plan.evaluation_due(step + 1))
    record_epoch(step, nullptr);
  if (step == setup_.first_step && !setup_.generation.is_first())
    record_recovery();
  tell_workers_status();
}

/// Sums over the devices of all ranks; 0 if one is unknown.
double CoordinatorState::peak_operations() const {
  double sum = 0;
  for (const auto& [rank, member] : members_) {
    if (member.info.peak_operations <= 0)
      return 0;
    sum += member.info.peak_operations;
  }
  return sum;
}

/// Only the first rank of a node measures, because its ranks share the processors.
void CoordinatorState::measure_peaks() {
  for (const auto& [rank, member] : members_)
    if (rank == setup_.generation.node_of(rank).first_rank)
      self_->send(member.worker, atom::measure_v);
}

void CoordinatorState::take_peak(std::int32_t rank, double operations) {
  if (!is_rank(rank))
    return;
  for (auto& [other, member] : members_)
    if (setup_.generation.index_of(other) == setup_.generation.index_of(rank))
      member.info.peak_operations = std::max(member.info.peak_operations, operations);
}

void CoordinatorState::record_recovery() {
  const auto& change = setup_.generation.change;
  record(metrics::RecoveryRecord{
      .time = std::chrono::system_clock::now(),
      .generation = setup_.generation.number,
      .reason = change.reason,
      .is_loss = change.is_loss,
      .step = setup_.first_step,
      .steps_repeated = std::max<std::int64_t>(0, totals_.committed - setup_.first_step),
      .world_size = world_size(),
      .detect = change.detect,
      .halt = change.halt,
      .heal = setup_.heal,
      .connect = setup_.connect,
      .first_step = seconds(Clock::now() - made_)});
}

/// Returns whether all ranks have the same state. If not, synchronizes them, and then calls
/// reach_pause() or answer_halts() again.
bool CoordinatorState::synchronize() {
  if (agreed_ == committed_)
    return true;
  if (std::exchange(synchronizes_, true))
    return false;
  const auto answered = after(members_.size(), [this] {
    synchronizes_ = false;
    agreed_ = committed_;
    halts_.empty() ? reach_pause() : answer_halts();
  });
  for (const auto& [rank, member] : members_)
    self_->request(member.synchronous(), caf::infinite, atom::synchronize_v, committed_)
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
  const auto next = balancer_.next(committed_);
  if (!next)
    return true;
  const auto answered =
      after(2 * members_.size(), [this] { is_over() ? save_if_due() : resume_training(); });
  const auto tell = [&](const auto& role) {
    self_->request(role, caf::infinite, atom::assign_v, *next)
        .then(answered, [](const caf::error&) {}); // the rank has failed, and reports it itself
  };
  for (const auto& [rank, member] : members_) {
    tell(member.worker);
    tell(member.synchronous());
  }
  return false;
}

/// Whether the step is the first of a slice assignment, in a job whose assignment may change.
bool CoordinatorState::begins_assignment(std::int64_t step) const {
  return balancer_.reassigns() &&
         step == std::max(setup_.first_step, balancer_.slice_assignment().first_step());
}

/// Whether the actions due after the last step need the same state on all ranks.
bool CoordinatorState::needs_one_state() const {
  return is_over() || save_wanted_ || balancer_.reassigns() || next_shards_.is_best ||
         setup_.plan.evaluation_due(committed_) || setup_.plan.checkpoint_due(committed_);
}

void CoordinatorState::reach_pause() {
  if (needs_one_state() && !synchronize())
    return;
  if (setup_.plan.evaluation_due(committed_) && epoch_.steps > 0) {
    enter(Phase::evaluating);
    evaluation_begin_ = Clock::now();
    for (const auto& [rank, member] : members_)
      self_->send(member.shard_manager, atom::evaluate_v, committed_);
    return;
  }
  sample_if_due();
}

void CoordinatorState::count_evaluation(const EvaluationReport& report) {
  evaluations_.push_back(report);
  if (phase_ != Phase::evaluating || std::ssize(evaluations_) < world_size())
    return;
  std::ranges::sort(evaluations_, {}, &EvaluationReport::rank);
  const auto all = total(evaluations_);
  evaluations_.clear();
  record_epoch(committed_ - 1, &all);
  sample_if_due();
}

void CoordinatorState::record_epoch(std::int64_t last_step, const EvaluationReport* test) {
  metrics::EpochRecord row;
  row.time = std::chrono::system_clock::now();
  row.epoch = setup_.plan.epoch_of(last_step);
  row.step = last_step;
  row.train_loss = ratio(epoch_.loss, static_cast<double>(epoch_.steps));
  row.train_accuracy = epoch_.accuracy();
  row.seconds = epoch_.seconds;
  if (test) {
    row.test_loss = ratio(test->loss_sum, static_cast<double>(test->right.rows));
    row.test_accuracy = test->right.ratio();
    row.test_seconds = seconds(Clock::now() - evaluation_begin_);
    row.seconds += *row.test_seconds;
    summary_.test_loss = row.test_loss;
    summary_.accuracy = row.test_accuracy;
    const training::TestResults results{row.test_loss, row.test_accuracy};
    next_shards_.results = training::to_metadata(results); // for this step's checkpoint, if any
    next_shards_.is_best = totals_.best.beat(results);
  }
  epoch_ = {};
  record(std::move(row));
}

void CoordinatorState::end(std::string_view status) {
  phase_ = Phase::ended;
  summary_.status = status;
  summary_.steps = committed_;
  summary_.epochs = committed_ / setup_.plan.steps_per_epoch();
  summary_.samples = totals_.steps.samples;
  summary_.seconds = totals_.seconds + seconds(Clock::now() - begin_);
  summary_.samples_per_second =
      ratio(static_cast<double>(totals_.steps.samples), totals_.steps.seconds);
  summary_.mfu = totals_.steps.mfu();
  summary_.peak_operations = peak_operations();
  summary_.overlap_ratio = ratio(totals_.overlapped, totals_.collective);
  summary_.workers = worker_summaries();
  auto outcome = std::make_shared<const RunOutcome>(RunOutcome{summary_, error_});
  const auto answer = [this](const RunOutcomePtr& ended) {
    if (promise_)
      promise_->deliver(ended);
  };
  self_->request(setup_.metrics, caf::infinite, atom::finish_v, RunOutcomePtr{outcome})
      .then(answer, [this, answer](const caf::error& reason) { answer(unrecorded(reason)); });
}

/// The outcome if METRICS has died: the run's files are incomplete, so the run has failed.
RunOutcomePtr CoordinatorState::unrecorded(const caf::error& reason) {
  if (!error_) {
    error_ = Error{Errc::internal,
                   "the metrics actor died before the run's logs were complete: " +
                       caf::to_string(reason),
                   {.actor = "metrics", .step = committed_ - 1}};
    summary_.status = "failed";
    summary_.error = error_->to_string();
  }
  return std::make_shared<const RunOutcome>(RunOutcome{summary_, error_});
}

} // namespace troupe::actors
