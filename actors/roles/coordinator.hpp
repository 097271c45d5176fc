/// COORDINATOR: leads a job from its first step to its last.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/roles/detail/run_totals.hpp"
#include "actors/roles/detail/slice_balancer.hpp"
#include "actors/roles/detail/work_items.hpp"
#include "metrics/report/earlier_run.hpp"
#include "metrics/step_sums.hpp"
#include "metrics/trace.hpp"
#include "training/job_plan.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::actors {

struct CoordinatorSetup {
  training::JobPlan plan;
  std::int64_t first_step = 0;
  training::GenerationRecord generation;
  // Of the training set: every node must have the same.
  std::int64_t samples = 0;
  std::string data = {}; ///< its fingerprint
  /// When a collective fails, how long it may take to learn which node is gone.
  std::chrono::milliseconds detection{5000};
  std::chrono::milliseconds collective{0}; ///< that a collective may take
  // collectives/step_policy.hpp
  std::int64_t window = 1; ///< steps that may be under way
  /// Whether all ranks have one state behind it.
  std::function<bool(std::int64_t step)> agree = [](std::int64_t) { return true; };
  SliceBalancerSetup balancer = {};
  bool records_reads = false; ///< metrics.reads
  std::function<double(std::int64_t step)> learning_rate;
  metrics::RunInfo info = {};
  metrics::EarlierRun before = {}; ///< the steps before first_step
  // Seconds that it took to form the generation.
  double heal = 0, connect = 0;
  RunTotals totals = {};         ///< of the generations before
  bool dies_with_a_node = false; ///< part of the state is on one node alone
  bool is_sharded = false; ///< every rank writes its part of a checkpoint; else rank 0 all of it
  bool takes_over = false; ///< another led until now: what it has saved may be out of reach
  checkpointer_actor checkpointer; ///< rank 0's
  generator_actor generator = {};  ///< null: no samples are written
  metrics_actor metrics;
  membership_actor membership = {}; ///< null: there is one node alone
  metrics::Track row = {};          ///< of the actor in the timeline
};

///              run                 pause: all steps below it are committed
///   joining ---------> training --------------------------------+---------+
///                         ^                                      | due     | not due
///                         |   no more to do                      v         v
///                         +------ saving <----- sampling <-- evaluating ---+
///                                                 | last step, or stopped
///                                                 v
///                                              finishing --> ended
///
/// A generation that is over (release) leaves all to the next COORDINATOR.
///
/// Workers run below the limit that was granted, so that all ranks stop at the same step.
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
    // Of all steps so far.
    std::int64_t steps = 0;
    std::chrono::nanoseconds busy = {}, data_wait = {}, collectives = {}; ///< not overlapped
    std::chrono::nanoseconds optimizer = {};                              ///< likewise
    std::int64_t ready_batches = 0; ///< at the end of the last one
    MemoryUse memory = {};

    void add(const StepReport& report);
    metrics::WorkerSummary summary(double step_seconds) const;
  };
  void enter(Phase phase);
  void join(const RankInfo& info, Member member);
  std::int32_t world_size() const { return setup_.generation.world_size(); }
  /// Whether the generation has this rank; messages of other nodes may have been damaged.
  bool is_rank(std::int32_t rank) const { return rank >= 0 && rank < world_size(); }
  void begin_if_ready();
  void go_on();
  void resume_training();
  void grant();
  std::int64_t pause() const;
  void commit(StepReport report);
  void record_recovery();
  void record_step(std::int64_t step, const std::vector<StepReport>& reports);
  double peak_operations() const;
  void measure_peaks();
  void take_peak(std::int32_t rank, double operations);
  bool needs_one_state() const;
  void reach_pause();
  bool synchronize();
  bool deal();
  void assign_work();
  void assign_again();
  bool assigns_to(std::int32_t rank) const;
  void want(std::int32_t rank);
  void come(std::int32_t rank, Pass pass, const WorkerStep& measured);
  void find(const StepFound& by_rank);
  void apply();
  void add_work_items(std::int64_t step, const std::vector<StepReport>& reports,
                      metrics::StepRecord& record);
  void count_evaluation(const EvaluationReport& report);
  /// `test`: null where nothing is evaluated behind it.
  void record_epoch(std::int64_t last_step, const EvaluationReport* test);
  void note_results(const training::TestResults& results);
  void sample_if_due();
  void sample_chunk(std::uint64_t index);
  void write_sample();
  void count_sample(const GeneratedRecordPtr& record);
  void not_sampled(std::int64_t step, const caf::error& error);
  void sample_ended();
  void save_if_due();
  void save();
  void copied();
  void save_chunks();
  void save_chunk(std::int32_t rank, std::uint64_t index);
  void hash_chunk(std::uint64_t index);
  void contribute(std::uint64_t chunk);
  std::size_t writers() const;
  void count_shard(const ShardOutcome& part);
  void finish_checkpoint();
  void conclude();
  std::function<void(const caf::error&)> not_saved(const char* role, int rank = -1);
  void count_saved(CheckpointOutcome outcome);
  void finish();
  void tell_workers_status();
  void stop();
  caf::result<void> halt(bool save);
  void answer_halts();
  void save_for_next();
  RunTotalsPtr release();
  void suspect(const Error& error);
  std::vector<std::string> nodes_behind() const;
  void fail_node(Error error);
  void tell_membership(const Error& error);
  void fail(Error error);
  bool others_may_go_on(const Error& error) const;
  void end_failed(Error error);
  void complete(Where& where) const;
  void end(std::string_view status);
  RunOutcomePtr unrecorded(const caf::error& reason);
  bool is_over() const { return committed_ == setup_.plan.total_steps() || stopping_; }
  JobStatus status() const;
  std::vector<NodeStatus> node_statuses() const;
  WorkerSummaries worker_summaries() const;

  coordinator_actor::pointer self_;
  CoordinatorSetup setup_;
  Phase phase_ = Phase::joining;
  std::map<std::int32_t, Member> members_;
  std::int64_t committed_, granted_;
  bool stopping_ = false;
  SliceBalancer balancer_;
  std::optional<WorkItems> work_items_; ///< where ranks train asynchronously
  bool assigns_later_ = false;          ///< by itself, as somebody's patience will end
  std::int64_t assigned_;               ///< the first step of the last dealing; below 0: always one
  std::int64_t agreed_;                 ///< steps after which all ranks last had one state
  bool synchronizes_ = false;       ///< they are coming to one
  bool sampling_ = false;             ///< a sample is gathered or written: there is memory for one
  bool sample_due_ = false;           ///< when that is written
  bool concludes_ = false;            ///< the same
  std::int64_t sampled_ = -1;         ///< steps after which a sample was begun
  bool writing_ = false;              ///< a snapshot: there is memory for one
  bool save_due_ = false;             ///< when that is written
  bool save_wanted_ = false;          ///< whatever step it is
  std::size_t copying_ = 0;           ///< ranks that have not yet copied what they save
  std::int64_t saved_ = -1;           ///< steps after which a checkpoint was written, or should be
  std::int64_t hashed_ = -1;          ///< steps after which the summary's digest was taken
  CheckpointShards parts_ = {};       ///< of the checkpoint that is being written
  CheckpointShards next_shards_ = {}; ///< what is known of the next one
  std::map<std::int64_t, std::vector<StepReport>> reports_;
  double step_seconds_ = 0;   ///< of this generation's steps
  std::int64_t measured_ = 0; ///< steps after which peaks were measured last
  std::vector<EvaluationReport> evaluations_;
  std::vector<caf::typed_response_promise<void>> halts_; ///< wait for the steps under way
  bool halts_saved_ = false;                             ///< and for all of them to be on a disk
  bool is_void_ = false;                                 ///< the generation is over
  bool reported_ = false;                                ///< to MEMBERSHIP: that a rank has failed
  metrics::StepSums epoch_;
  RunTotals totals_; ///< with this generation's
  Clock::time_point made_ = Clock::now(), begin_ = made_, last_commit_ = begin_,
                    evaluation_begin_ = begin_, pause_begin_ = begin_;
  std::optional<double> paused_; ///< seconds, for the checkpoint that is being written
  metrics::RunSummary summary_;
  std::optional<Error> error_, suspected_;
  std::set<std::int32_t> interrupted_; ///< ranks that have reported a failure between ranks
  std::optional<Error> unsaved_;       ///< why the newest checkpoint was not written
  std::optional<Error> ending_;        ///< why the job ends when it is saved
  std::optional<caf::typed_response_promise<RunOutcomePtr>> promise_;
};

} // namespace troupe::actors
