/// A COORDINATOR whose neighbours record the messages that it sends.
#pragma once

#include "actors/caf_error.hpp"
#include "actors/roles/coordinator.hpp"
#include "core/config/config.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/stub_roles.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::actors::test {

/// Chunks that a state is saved in.
constexpr std::uint64_t chunks = 2;

/// Messages that the coordinator's neighbours received.
struct Seen {
  std::vector<std::int64_t> limits; ///< of rank 0
  std::vector<std::int64_t> evaluations, snapshots;
  std::vector<std::int32_t> assigned;  ///< ranks that were assigned a slice
  std::vector<std::int32_t> measuring; ///< ranks that were asked to measure their peak
  std::vector<std::int64_t> meetings; ///< steps at which ranks synchronized; an entry for each rank
  std::vector<std::pair<std::int64_t, std::uint64_t>> chunks; ///< step and chunk
  std::vector<std::pair<std::int64_t, std::uint64_t>>
      gathered; ///< step and chunk that were gathered for a sample
  std::vector<std::shared_ptr<const metrics::GeneratedRecord>> samples;
  std::vector<std::pair<std::int64_t, Error>> unwritten_samples;
  int failing_samples = 0;    ///< how many of the first samples fail
  bool writes_slowly = false; ///< a sample is ready only after the clock has advanced an hour
  std::vector<bool> writes;
  std::vector<std::shared_ptr<const metrics::StepRecord>> steps;
  std::vector<std::shared_ptr<const metrics::EpochRecord>> epochs;
  std::vector<metrics::JobPhase> phases;
  std::vector<double> failed_losses;
  std::vector<metrics::CheckpointRecord> saved;
  WorkerSummaries workers; ///< newest summaries
  RunOutcomePtr outcome;

  void record(const RunRecordPtr& event) {
    if (const auto* step = std::get_if<metrics::StepRecord>(event.get()))
      steps.emplace_back(event, step);
    else if (const auto* epoch = std::get_if<metrics::EpochRecord>(event.get()))
      epochs.emplace_back(event, epoch);
    else if (const auto* sample = std::get_if<metrics::GeneratedRecord>(event.get()))
      samples.emplace_back(event, sample);
    else if (const auto* checkpoint = std::get_if<metrics::CheckpointRecord>(event.get()))
      saved.push_back(*checkpoint);
  }

  int failing_writes = 0; ///< how many of the first checkpoint writes fail
  bool is_slow = false;   ///< a checkpoint is ready only after the clock has advanced an hour
  bool is_sharded = false;
  std::vector<CheckpointShards>
      checkpoints;                     ///< checkpoints that the CHECKPOINTER was asked to finish
  std::vector<SharedFailure> failures; ///< failures of several nodes, as reported to MEMBERSHIP
};

/// Records a message that all ranks receive only for rank 0.
inline worker_actor spawn_worker(caf::actor_system& system, int rank,
                                 const std::shared_ptr<Seen>& seen) {
  return spawn_stub<worker_actor>(
      system,
      [rank, seen](atom::advance, std::int64_t limit) {
        if (rank == 0)
          seen->limits.push_back(limit);
      },
      [rank, seen](atom::assign, Pass) { seen->assigned.push_back(rank); },
      [rank, seen](atom::measure) { seen->measuring.push_back(rank); });
}

inline shard_manager_actor spawn_shard_manager(caf::actor_system& system, int rank,
                                               const coordinator_actor& coordinator,
                                               const std::shared_ptr<Seen>& seen) {
  return spawn_stub<synchronous_shard_manager_actor>(
      system, [seen](atom::synchronize, std::int64_t steps) { seen->meetings.push_back(steps); },
      [rank, seen](atom::evaluate, std::int64_t step) {
        if (rank == 0)
          seen->evaluations.push_back(step);
      },
      [rank, coordinator, seen](atom::save, std::int64_t step) {
        seen->snapshots.push_back(step);
        if (rank == 0 || seen->is_sharded)
          caf::anon_send(coordinator, atom::saved_v,
                         ShardOutcome{.rank = rank,
                                      .step = step,
                                      .parameters_sha256 = seen->is_sharded ? "" : "digest"});
      },
      [rank, seen](atom::gather, std::int64_t step, std::uint64_t chunk, ChunkUse use) {
        ShardOutcome part{.rank = rank,
                          .step = step,
                          .is_last = chunk + 1 == chunks,
                          .parameters_sha256 = seen->is_sharded ? "" : "digest"};
        (use == ChunkUse::sample ? seen->gathered : seen->chunks).emplace_back(step, chunk);
        if (use == ChunkUse::digest) {
          part.parameters_sha256 = "digest";
          if (part.is_last)
            seen->writes.push_back(false);
        }
        return part;
      });
}

struct CheckpointerStub {
  static inline const char* name = "checkpointer_stub";
  CheckpointerStub(checkpointer_actor::pointer its_self, std::shared_ptr<Seen> seen_by)
      : self{its_self}, seen{std::move(seen_by)} {}
  checkpointer_actor::behavior_type make_behavior() {
    return {[](atom::snapshot, const SnapshotPtr&) { return ShardOutcome{}; },
            [](atom::snapshot, const StateChunkPtr&, bool) { return ShardOutcome{}; },
            [this](atom::finish,
                   const CheckpointShards& parts) -> caf::result<metrics::CheckpointRecord> {
              seen->checkpoints.push_back(parts);
              if (!seen->is_slow)
                return finish(parts);
              auto promise = self->make_response_promise<metrics::CheckpointRecord>();
              self->run_delayed(std::chrono::hours{1}, [this, promise, parts]() mutable {
                promise.deliver(finish(parts));
              });
              return promise;
            }};
  }
  metrics::CheckpointRecord finish(const CheckpointShards& parts) const {
    seen->writes.push_back(true);
    metrics::CheckpointRecord outcome{.step = parts.step,
                                      .path = "somewhere",
                                      .parameters_sha256 = parts.parts.front().parameters_sha256};
    if (seen->failing_writes > 0) {
      --seen->failing_writes;
      outcome.failure = Error{Errc::no_space, "the disk is full"};
    }
    return outcome;
  }
  checkpointer_actor::pointer self;
  std::shared_ptr<Seen> seen;
};

struct GeneratorStub {
  static inline const char* name = "generator_stub";
  GeneratorStub(generator_actor::pointer its_self, std::shared_ptr<Seen> seen_by)
      : self{its_self}, seen{std::move(seen_by)} {}
  generator_actor::behavior_type make_behavior() {
    return {[](atom::snapshot, const StateChunkPtr&) { return true; },
            [this](atom::generate, std::int64_t step) -> caf::result<GeneratedRecordPtr> {
              if (seen->failing_samples-- > 0)
                return to_caf_error(Error{Errc::out_of_memory, "there is no room"});
              const GeneratedRecordPtr record = std::make_shared<const metrics::GeneratedRecord>(
                  metrics::GeneratedRecord{.step = step});
              if (!seen->writes_slowly)
                return record;
              promise = self->make_response_promise<GeneratedRecordPtr>();
              self->run_delayed(std::chrono::hours{1}, [this, record] { promise.deliver(record); });
              return promise;
            },
            [](atom::done, const FollowUpPtr&) {}};
  }
  generator_actor::pointer self;
  std::shared_ptr<Seen> seen;
  caf::typed_response_promise<GeneratedRecordPtr> promise; ///< broken when the actor terminates
};

inline metrics_actor spawn_metrics(caf::actor_system& system, const std::shared_ptr<Seen>& seen) {
  return spawn_stub<metrics_actor>(
      system, [seen](atom::record, const RunRecordPtr& event) { seen->record(event); },
      [seen](atom::failed, std::int64_t steps, const Error& why) {
        seen->unwritten_samples.emplace_back(steps, why);
      },
      [seen](atom::status, metrics::JobPhase phase) { seen->phases.push_back(phase); },
      [seen](atom::status, const WorkerSummaries& workers) { seen->workers = workers; },
      [seen](atom::failed, double loss) { seen->failed_losses.push_back(loss); },
      [seen](atom::finish, const RunOutcomePtr& outcome) { return seen->outcome = outcome; });
}

/// A job of two ranks and two epochs of six steps, with an evaluation and a checkpoint after each
/// epoch.
struct NodeRuntime : Deterministic {
  explicit NodeRuntime(std::int64_t first_step = 0,
                       std::vector<training::MemberInfo> nodes = {{"here", "here", "here:1", 0, 2}},
                       BestSoFar best = BestSoFar{}, bool is_sharded = false,
                       bool saves_best_alone = false, std::int64_t steps_of_a_round = 1,
                       Interval sample_every = {},
                       data::SliceAssignment slice_assignment = {2, 2}) {
    seen->is_sharded = is_sharded;
    Config two_epochs;
    two_epochs.train.epochs = 2;
    two_epochs.checkpoint.every = {Interval::Unit::epochs, 1};
    two_epochs.train.sample.every = sample_every;
    if (saves_best_alone)
      two_epochs.checkpoint.every = {Interval::Unit::never};
    metrics = spawn_metrics(system, seen);
    checkpointer = spawn_state<CheckpointerStub, checkpointer_actor>(system, seen);
    generator = spawn_state<GeneratorStub, generator_actor>(system, seen);
    if (nodes.size() > 1)
      membership = spawn_stub<membership_actor>(
          system, [seen = seen](atom::failed, std::int64_t, const SharedFailure& failure) {
            seen->failures.push_back(failure);
          });
    coordinator = spawn_state<CoordinatorState, coordinator_actor>(
        system,
        CoordinatorSetup{
            .plan = training::JobPlan{two_epochs, 6},
            .first_step = first_step,
            .generation = {.number = 1, .nodes = std::move(nodes)},
            .timeouts = {.detection = std::chrono::seconds{5},
                         .collective = std::chrono::seconds{0}},
            .window = 4,
            .agree = [steps_of_a_round](
                         std::int64_t step) { return (step + 1) % steps_of_a_round == 0; },
            .balancer = data::SliceBalancer{std::move(slice_assignment)},
            .learning_rate = [](std::int64_t step) { return 0.5 * static_cast<double>(step); },
            .info = {.operations_per_step = 6e9},
            .totals = {.best = std::move(best)},
            .is_sharded = seen->is_sharded,
            .checkpointer = checkpointer,
            .generator = generator,
            .metrics = metrics,
            .membership = membership});
  }
  ~NodeRuntime() {
    for (const auto& actor : others)
      self->send_exit(actor, caf::exit_reason::kill);
    self->send_exit(coordinator, caf::exit_reason::kill);
    self->send_exit(checkpointer, caf::exit_reason::kill);
    self->send_exit(generator, caf::exit_reason::kill);
    self->send_exit(metrics, caf::exit_reason::kill);
    self->send_exit(membership, caf::exit_reason::kill);
    scheduler.run();
  }
  void join(int rank) {
    const auto worker = spawn_worker(system, rank, seen);
    const auto shard_manager = spawn_shard_manager(system, rank, coordinator, seen);
    others.push_back(caf::actor_cast<caf::actor>(worker));
    others.push_back(caf::actor_cast<caf::actor>(shard_manager));
    self->send(coordinator, atom::join_v,
               RankInfo{.rank = rank,
                        .metrics = {},
                        .device = rank == 0 ? "a" : "b",
                        .peak_operations = peaks[static_cast<std::size_t>(rank)]},
               worker, shard_manager, metrics);
    scheduler.run();
  }
  void start() {
    self->send(coordinator, atom::run_v);
    join(0);
    join(1);
  }
  void commit(int rank, std::int64_t step, double loss = 1.0) {
    StepReport report{.rank = rank};
    report.worker = {.step = step, .loss = loss, .right = {4, 2}, .samples = 4};
    self->send(coordinator, atom::step_committed_v, report);
    scheduler.run();
  }
  void commit_all(std::int64_t from, std::int64_t to) {
    for (auto step = from; step < to; ++step)
      for (int rank = 0; rank < 2; ++rank)
        commit(rank, step);
  }
  void measured(std::int32_t rank, double peak) {
    self->send(coordinator, atom::measure_v, rank, peak);
    scheduler.run();
  }
  void evaluated() {
    for (int rank = 0; rank < 2; ++rank)
      self->send(coordinator, atom::evaluated_v, EvaluationReport{rank, 6, 3.0, {2, 1}});
    scheduler.run();
  }

  std::shared_ptr<Seen> seen = std::make_shared<Seen>();
  std::array<double, 2> peaks = {}; ///< operations per second, by rank; 0: unknown
  metrics_actor metrics;
  checkpointer_actor checkpointer;
  generator_actor generator;
  membership_actor membership; ///< null with a single node
  coordinator_actor coordinator;
  std::vector<caf::actor> others;
};

} // namespace troupe::actors::test
