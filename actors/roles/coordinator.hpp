/// COORDINATOR: leads a generation of the job from its first step to its last.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/roles/detail/step_votes.hpp"
#include "core/config/checkpoint.hpp"
#include "core/config/cluster.hpp"
#include "data/slice_balancer.hpp"
#include "data/work_items.hpp"
#include "metrics/report/earlier_run.hpp"
#include "metrics/step_sums.hpp"
#include "metrics/trace.hpp"
#include "training/job_plan.hpp"
#include "training/test_results.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::actors {

/// Tracks the best evaluation of a run (checkpoint.best).
struct BestSoFar {
  BestMetric metric = BestMetric::none;
  std::optional<double> value = {}; ///< empty: there is none yet

  /// Returns whether these results are better than all before. If so, the next ones are compared
  /// with them.
  bool beat(const training::TestResults& results) {
    const bool higher = metric == BestMetric::accuracy;
    const auto& now = higher ? results.accuracy : results.loss;
    if (metric == BestMetric::none || !now)
      return false;
    if (value && !(higher ? *now > *value : *now < *value))
      return false;
    value = now;
    return true;
  }
};

/// The totals of a run over the earlier generations of this process. Each COORDINATOR passes them
/// to the next.
struct RunTotals {
  metrics::StepSums steps = {};
  std::int64_t committed = 0;            ///< steps of the whole run
  double seconds = 0;                    ///< since the first step
  double collective = 0, overlapped = 0; ///< seconds
  metrics::RunSummary summary = {};      ///< with the counts of its checkpoints
  BestSoFar best = {};
  std::int64_t sampled = -1;    ///< number of steps after which the last text sample was written
  metrics::EarlierRun run = {}; ///< the run so far, for the next generation
};

struct CoordinatorSetup {
  training::JobPlan plan;
  std::int64_t first_step = 0;
  training::GenerationRecord generation;
  // The training set, which must be the same on every node.
  std::int64_t samples = 0;
  std::string data = {};        ///< fingerprint of the training set
  TimeoutsConfig timeouts = {}; ///< cluster.timeouts
  // training/step_plan.hpp
  std::int64_t window = 1; ///< number of steps that may be in flight
  /// Whether all ranks have the same state after `step`.
  std::function<bool(std::int64_t step)> agree = [](std::int64_t) { return true; };
  data::SliceBalancer balancer = data::SliceBalancer{};
  double wait_tolerance = 0;  ///< data/work_items.hpp, in asynchronous training
  bool records_reads = false; ///< metrics.reads
  std::function<double(std::int64_t step)> learning_rate;
  metrics::RunInfo info = {};
  metrics::EarlierRun before = {}; ///< the run before first_step
  // Seconds that building the generation took.
  double heal = 0, connect = 0;
  RunTotals totals = {};         ///< of earlier generations
  bool dies_with_a_node = false; ///< only one node has some part of the state
  bool is_sharded = false; ///< every rank writes a part of a checkpoint; else rank 0 all of it
  bool takes_over = false; ///< another node led until now: its checkpoints may be unreachable
  checkpointer_actor checkpointer; ///< of rank 0
  generator_actor generator = {};  ///< null: no samples are written
  metrics_actor metrics;
  membership_actor membership = {}; ///< null: a single node
  metrics::Track row = {};          ///< of the actor in the timeline
};

///              run                 pause: all steps below it are committed
///   joining ---------> training --------------------------------+---------+
///                         ^                                      | due     | not due
///                         |   steps remain                       v         v
///                         +------ saving <----- sampling <-- evaluating ---+
///                                                 | last step, or stopped
///                                                 v
///                                              finishing --> ended
///
/// A generation that is over (release) leaves its totals to the next COORDINATOR.
///
/// Workers run the steps below a granted limit, so that all ranks stop at the same step.
class CoordinatorState {
public:
  static inline const char* name = "coordinator";

  CoordinatorState(coordinator_actor::pointer self, CoordinatorSetup setup);
  coordinator_actor::behavior_type make_behavior();

private:
  using Clock = std::chrono::steady_clock;
  enum class Phase : std::uint8_t {
    joining,
    training,
    evaluating,
    sampling,
    saving,
    finishing,
    ended
  };
  struct Member {
    RankInfo info;
    worker_actor worker;
    shard_manager_actor shard_manager;
    metrics_actor metrics; ///< of the rank's node
    // Sums over all steps so far.
    std::int64_t steps = 0;
    std::chrono::nanoseconds busy = {}, data_wait = {}, collectives = {}; ///< not overlapped
    std::chrono::nanoseconds optimizer = {}; ///< while the rank did not compute
    std::int64_t ready_batches = 0;          ///< when the last step ended
    MemoryUse memory = {};

    // The strategy of the job tells which of the two `shard_manager` is.
    synchronous_shard_manager_actor synchronous() const {
      return caf::actor_cast<synchronous_shard_manager_actor>(shard_manager);
    }
    parameter_server_actor parameter_server() const {
      return caf::actor_cast<parameter_server_actor>(shard_manager);
    }
    void add(const StepReport& report);
    metrics::WorkerSummary summary(double step_seconds) const;
  };
  void enter(Phase phase);
  void join(const RankInfo& info, Member member);
  std::int32_t world_size() const { return setup_.generation.world_size(); }
  /// Whether the generation has this rank. Messages of other nodes may be damaged.
  bool is_rank(std::int32_t rank) const { return rank >= 0 && rank < world_size(); }
  void begin_if_ready();
  void go_on();
  void resume_training();
  void grant();
  std::int64_t pause() const;
  void commit(const StepReport& report);
  /// Has METRICS record an event.
  void record(RunRecord event) {
    self_->send(setup_.metrics, atom::record_v,
                std::make_shared<const RunRecord>(std::move(event)));
  }
  void record_recovery();
  void record_step(std::int64_t step, std::vector<StepReport>& reports);
  double peak_operations() const;
  void measure_peaks();
  void take_peak(std::int32_t rank, double operations);
  bool needs_one_state() const;
  void reach_pause();
  bool synchronize();
  std::function<void()> after(std::size_t answers, std::function<void()> then);
  bool assign();
  bool begins_assignment(std::int64_t step) const;
  void assign_work();
  void assign_again();
  bool assigns_to(std::int32_t rank) const;
  void complete(std::int32_t rank, Pass pass);
  void propose(std::int32_t rank, std::int64_t step, const training::StepResults& results);
  void apply();
  void count_evaluation(const EvaluationReport& report);
  /// `test`: null if the epoch ends without an evaluation.
  void record_epoch(std::int64_t last_step, const EvaluationReport* test);
  void sample_if_due();
  void write_sample();
  void not_sampled(std::int64_t step, const caf::error& error);
  void sample_ended();
  void save_if_due();
  void save();
  void copied();
  void save_chunks();
  void take_chunks(std::int32_t rank, ChunkUse use,
                   const std::function<void(const ShardOutcome&)>& then, std::uint64_t index = 0);
  std::size_t writers() const;
  void count_shard(const ShardOutcome& part);
  void finish_checkpoint();
  void conclude();
  std::function<void(const caf::error&)> not_saved(const char* role, int rank = -1);
  void count_saved(metrics::CheckpointRecord outcome);
  void finish();
  void tell_workers_status();
  void stop(const Error& reason);
  caf::result<void> halt(bool save);
  void answer_halts();
  RunTotalsPtr release();
  void suspect(const Error& error);
  std::vector<std::string> nodes_behind() const;
  void fail_node(const Error& error);
  void fail(const Error& error) { fail(error, others_may_go_on(error)); }
  void fail(Error error, bool others_go_on);
  bool others_may_go_on(const Error& error) const;
  void end_failed(Error error);
  void complete(Where& where) const;
  void end(std::string_view status);
  RunOutcomePtr unrecorded(const caf::error& reason);
  bool is_over() const { return committed_ == setup_.plan.total_steps() || stopping_; }
  JobStatus status() const;
  std::vector<metrics::NodeRecord> node_statuses() const;
  WorkerSummaries worker_summaries() const;

  coordinator_actor::pointer self_;
  CoordinatorSetup setup_;
  Phase phase_ = Phase::joining;
  std::map<std::int32_t, Member> members_;
  std::int64_t committed_, granted_;
  bool stopping_ = false;
  data::SliceBalancer balancer_;
  // Asynchronous training uses the next three.
  std::optional<data::WorkItems> work_items_;
  StepVotes votes_;
  bool assigns_later_ = false; ///< assign_again() is scheduled, for the end of a wait tolerance
  std::int64_t agreed_;        ///< number of steps after which all ranks last had the same state
  bool synchronizes_ = false;  ///< ranks are synchronizing
  bool sampling_ = false;      ///< a sample is being gathered or written; there is memory for one
  bool sample_due_ = false;    ///< take the next sample when that one is written
  bool concludes_ = false;     ///< conclude when that one is written
  std::int64_t sampled_ = -1;  ///< number of steps after which the last sample was begun
  bool writing_ = false;       ///< a snapshot is being written; there is memory for one
  bool save_due_ = false;      ///< save again when that one is written
  bool save_wanted_ = false;   ///< at any step
  std::int64_t saved_ =
      -1; ///< number of steps after which the last checkpoint was or is being written
  std::int64_t hashed_ = -1;    ///< number of steps after which the summary's digest was taken
  CheckpointShards parts_ = {}; ///< of the checkpoint in progress
  CheckpointShards next_shards_ = {}; ///< results for the next checkpoint
  std::map<std::int64_t, std::vector<StepReport>> reports_;
  double step_seconds_ = 0;   ///< total over this generation's steps
  std::int64_t measured_ = 0; ///< number of steps after which peak rates were last measured
  std::vector<EvaluationReport> evaluations_;
  std::vector<caf::typed_response_promise<void>> halts_; ///< wait for the steps in flight
  bool halts_saved_ = false; ///< they also wait for all steps to be on disk
  bool is_void_ = false;     ///< the generation is over
  bool reported_ = false;    ///< a failed rank was reported to MEMBERSHIP
  metrics::StepSums epoch_;
  RunTotals totals_; ///< with this generation's
  Clock::time_point made_ = Clock::now(), begin_ = made_, last_commit_ = begin_,
                    evaluation_begin_ = begin_, pause_begin_ = begin_;
  std::optional<double> paused_; ///< seconds of the pause for the checkpoint in progress
  metrics::RunSummary summary_;
  std::optional<Error> error_, suspected_;
  std::set<std::int32_t> interrupted_; ///< ranks that have reported a failure between ranks
  std::optional<Error> unsaved_;       ///< why the newest checkpoint was not written
  std::optional<Error> ending_;        ///< why the job ends after it is saved
  std::optional<caf::typed_response_promise<RunOutcomePtr>> promise_;
};

} // namespace troupe::actors
