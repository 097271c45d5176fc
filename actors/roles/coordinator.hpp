/// COORDINATOR: leads a generation of the job from its first step to its last.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/roles/detail/checkpoint_progress.hpp"
#include "actors/roles/detail/joined_ranks.hpp"
#include "actors/roles/detail/run_totals.hpp"
#include "actors/roles/detail/step_progress.hpp"
#include "actors/roles/detail/step_votes.hpp"
#include "core/config/cluster.hpp"
#include "data/slice_balancer.hpp"
#include "data/work_items.hpp"
#include "metrics/report/earlier_run.hpp"
#include "metrics/trace.hpp"
#include "training/job_plan.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::actors {

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
  struct AsyncSteps {
    data::WorkItems items;
    StepVotes votes;
    bool assigns_later = false; ///< assign_again() is scheduled, for the end of a wait tolerance
    static double now() { return seconds(Clock::now().time_since_epoch()); } ///< for `items`
  };
  /// There is memory for one sample.
  struct Sampling {
    bool runs = false;      ///< a sample is being gathered or written
    bool due = false;       ///< take the next sample when that one is written
    bool concludes = false; ///< conclude when that one is written
    std::int64_t last = -1; ///< number of steps after which the last sample was begun
  };
  struct Halts {
    std::vector<caf::typed_response_promise<void>> promises = {}; ///< wait for steps in flight
    bool are_saved = false; ///< they also wait for all steps to be on disk
  };

  void enter(Phase phase);
  void join(JoinedRank rank);
  void begin_if_ready();
  void resume_training();
  void grant();
  void commit(const StepReport& report);
  /// Has METRICS record an event.
  void record(RunRecord event) {
    self_->send(setup_.metrics, atom::record_v,
                std::make_shared<const RunRecord>(std::move(event)));
  }
  void record_recovery();
  void record_step(const std::vector<StepReport>& reports);
  void reach_pause();
  bool synchronize();
  std::function<void()> after(std::size_t answers, std::function<void()> then);
  bool assign();
  void assign_work();
  void assign_again();
  bool assigns_to(std::int32_t rank) const;
  void complete(std::int32_t rank, Pass pass);
  void apply();
  void count_evaluation(const EvaluationReport& report);
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
  void count_shard(const ShardOutcome& part);
  void conclude();
  std::function<void(const caf::error&)> not_saved(const char* role, int rank = -1);
  void finish();
  void tell_workers_status();
  void stop(const Error& reason);
  caf::result<void> halt(bool save);
  void answer_halts();
  RunTotalsPtr release();
  void suspect(const Error& error);
  void fail(const Error& error);
  void fail(Error error, bool others_go_on);
  void end_failed(Error error);
  void end(std::string_view status, std::optional<Error> error = {});
  JobStatus status() const;

  coordinator_actor::pointer self_;
  CoordinatorSetup setup_;
  Phase phase_ = Phase::joining;
  JoinedRanks ranks_;
  StepProgress steps_;
  data::SliceBalancer balancer_;
  std::optional<AsyncSteps> async_;
  Sampling sampling_;
  CheckpointProgress checkpoints_;
  std::vector<EvaluationReport> evaluations_;
  RunTotals totals_; ///< with this generation's
  Clock::time_point made_ = Clock::now(), begin_ = made_, last_commit_ = begin_,
                    evaluation_begin_ = begin_;
  Halts halts_;
  bool is_void_ = false;        ///< the generation is over
  bool reported_ = false;       ///< a failed rank was reported to MEMBERSHIP
  std::optional<Error> ending_; ///< why the job ends after it is saved
  std::optional<caf::typed_response_promise<RunOutcomePtr>> promise_;
};

} // namespace troupe::actors
