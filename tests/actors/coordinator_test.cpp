#include "deterministic.hpp"
#include "stub_roles.hpp"

#include "troupe/actors/roles/coordinator.hpp"
#include "troupe/core/config/config.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <limits>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::actors;

namespace {

/// That a state is saved in.
constexpr std::uint64_t pieces = 2;

/// Everything the coordinator's neighbours were told.
struct Seen {
  std::vector<std::int64_t> limits; ///< of rank 0
  std::vector<std::int64_t> evaluations, snapshots;
  std::vector<std::pair<std::int64_t, std::uint64_t>> pieces; ///< step and piece
  std::vector<bool> writes;
  std::vector<StepRecordPtr> steps;
  std::vector<EpochRecordPtr> epochs;
  std::vector<metrics::JobPhase> phases;
  std::vector<double> failed_losses;
  RunOutcomePtr outcome;
  int failing_writes = 0; ///< so many, from the first
  bool is_slow = false;   ///< a snapshot is written when the clock is moved
};

/// Only what rank 0 is told is noted where all ranks are told the same.
worker_actor spawn_worker(caf::actor_system& system, int rank, const std::shared_ptr<Seen>& seen) {
  return test::spawn_stub<worker_actor>(system, [rank, seen](atom::advance, std::int64_t limit) {
    if (rank == 0)
      seen->limits.push_back(limit);
  });
}

shard_manager_actor spawn_shard_manager(caf::actor_system& system, int rank,
                                        const std::shared_ptr<Seen>& seen) {
  return test::spawn_stub<shard_manager_actor>(
      system,
      [rank, seen](atom::evaluate, std::int64_t step) {
        if (rank == 0)
          seen->evaluations.push_back(step);
      },
      [seen](atom::snapshot, std::int64_t step) {
        seen->snapshots.push_back(step);
        return SnapshotPtr{std::make_shared<engine::Snapshot>(engine::Snapshot{.step = step})};
      },
      [seen](atom::snapshot, std::int64_t step, std::uint64_t piece) {
        seen->pieces.emplace_back(step, piece);
        return StatePiecePtr{std::make_shared<engine::StatePiece>(
            engine::StatePiece{.step = step, .index = piece, .values = {}})};
      },
      [seen](atom::contribute, std::int64_t step) { seen->snapshots.push_back(step); },
      [seen](atom::contribute, std::int64_t step, std::uint64_t piece) {
        seen->pieces.emplace_back(step, piece);
      });
}

struct CheckpointerStub {
  static inline const char* name = "checkpointer_stub";
  CheckpointerStub(checkpointer_actor::pointer its_self, std::shared_ptr<Seen> seen_by)
      : self{its_self}, seen{std::move(seen_by)} {}
  checkpointer_actor::behavior_type make_behavior() {
    return {[this](atom::snapshot, const SnapshotPtr& snapshot) -> caf::result<CheckpointOutcome> {
              if (!seen->is_slow)
                return finish(snapshot->step, true);
              auto promise = self->make_response_promise<CheckpointOutcome>();
              self->run_delayed(std::chrono::hours{1},
                                [this, promise, step = snapshot->step]() mutable {
                                  promise.deliver(finish(step, true));
                                });
              return promise;
            },
            [this](atom::snapshot, const StatePiecePtr& piece, bool write) {
              return piece->index + 1 < pieces ? CheckpointOutcome{} : finish(piece->step, write);
            }};
  }
  CheckpointOutcome finish(std::int64_t step, bool write) const {
    seen->writes.push_back(write);
    CheckpointOutcome outcome{.step = step, .parameters_sha256 = "digest"};
    if (write)
      outcome.path = "somewhere";
    if (seen->failing_writes > 0 && write) {
      --seen->failing_writes;
      outcome.failure = Error{Errc::no_space, "the disk is full"};
    }
    return outcome;
  }
  checkpointer_actor::pointer self;
  std::shared_ptr<Seen> seen;
};

metrics_actor spawn_metrics(caf::actor_system& system, const std::shared_ptr<Seen>& seen) {
  return test::spawn_stub<metrics_actor>(
      system,
      [seen](atom::step_committed, const StepRecordPtr& record) { seen->steps.push_back(record); },
      [seen](atom::evaluated, const EpochRecordPtr& record) { seen->epochs.push_back(record); },
      [seen](atom::status, metrics::JobPhase phase) { seen->phases.push_back(phase); },
      [seen](atom::failed, double loss) { seen->failed_losses.push_back(loss); },
      [seen](atom::finish, const RunOutcomePtr& outcome) { return seen->outcome = outcome; });
}

/// Two ranks, two epochs of six steps, an evaluation and a checkpoint after each.
struct Company : test::Deterministic {
  explicit Company(std::int64_t first_step = 0,
                   std::vector<engine::NodePlace> nodes = {{"here", "here", 0, 2}}) {
    Config two_epochs;
    two_epochs.train.epochs = 2;
    two_epochs.checkpoint.every = {Interval::Unit::epochs, 1};
    metrics = spawn_metrics(system, seen);
    checkpointer = test::spawn_state<CheckpointerStub, checkpointer_actor>(system, seen);
    coordinator = test::spawn_state<CoordinatorState, coordinator_actor>(
        system,
        CoordinatorSetup{
            .plan = engine::JobPlan{two_epochs, 6},
            .first_step = first_step,
            .generation = {.number = 1, .nodes = std::move(nodes)},
            .window = 4,
            .learning_rate = [](std::int64_t step) { return 0.5 * static_cast<double>(step); },
            .pieces = pieces,
            .parameter_pieces = pieces,
            .checkpointer = checkpointer,
            .metrics = metrics});
  }
  ~Company() {
    for (const auto& actor : others)
      self->send_exit(actor, caf::exit_reason::kill);
    self->send_exit(coordinator, caf::exit_reason::kill);
    self->send_exit(checkpointer, caf::exit_reason::kill);
    self->send_exit(metrics, caf::exit_reason::kill);
    scheduler.run();
  }
  void join(int rank) {
    const auto worker = spawn_worker(system, rank, seen);
    const auto shard_manager = spawn_shard_manager(system, rank, seen);
    others.push_back(caf::actor_cast<caf::actor>(worker));
    others.push_back(caf::actor_cast<caf::actor>(shard_manager));
    self->send(coordinator, atom::join_v,
               RankInfo{.rank = rank, .metrics = {}, .device = rank == 0 ? "a" : "b"}, worker,
               shard_manager, metrics);
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
  void evaluated() {
    for (int rank = 0; rank < 2; ++rank)
      self->send(coordinator, atom::evaluated_v, EvaluationReport{rank, 6, 3.0, {2, 1}});
    scheduler.run();
  }

  std::shared_ptr<Seen> seen = std::make_shared<Seen>();
  metrics_actor metrics;
  checkpointer_actor checkpointer;
  coordinator_actor coordinator;
  std::vector<caf::actor> others;
};

} // namespace

TEST_CASE("a job starts when all ranks have joined, and grants a window of steps") {
  Company company;
  company.self->send(company.coordinator, atom::run_v);
  company.join(0);
  CHECK(company.seen->limits.empty());
  company.join(1);
  CHECK(company.seen->limits == std::vector<std::int64_t>{4});
}

TEST_CASE("a rank whose training data are not the leader's ends the job") {
  Company company;
  company.self->send(company.coordinator, atom::run_v);
  company.join(0);
  RankInfo other{.rank = 1, .metrics = {}, .device = "b"};
  std::string difference;
  SECTION("by their number") {
    other.samples = 5;
    difference = "5 training samples here, 0 at the leader";
  }
  SECTION("by their content") {
    other.data = "abc";
    difference = "the training data here have the fingerprint abc, those of the leader :";
  }
  company.self->send(company.coordinator, atom::join_v, other, worker_actor{},
                     shard_manager_actor{}, company.metrics);
  company.scheduler.run();
  REQUIRE(company.seen->outcome);
  REQUIRE(company.seen->outcome->error);
  CHECK(company.seen->outcome->error->code == Errc::data);
  CHECK(company.seen->outcome->error->message.starts_with(difference));
}

TEST_CASE("a step counts as committed when all ranks have committed it") {
  Company company;
  company.start();
  company.commit(0, 0, 1.0);
  CHECK(company.seen->steps.empty());
  CHECK(company.seen->limits.size() == 1);
  company.commit(1, 0, 3.0);
  REQUIRE(company.seen->steps.size() == 1);
  CHECK(company.seen->steps[0]->loss == 2.0);
  CHECK(company.seen->steps[0]->samples == 8);
  CHECK(company.seen->steps[0]->accuracy == 0.5);
  CHECK(company.seen->limits == std::vector<std::int64_t>{4, 5});
}

TEST_CASE("no step beyond a pause is granted until evaluation and snapshot are done") {
  Company company;
  company.start();
  company.commit_all(0, 6);
  CHECK(company.seen->limits.back() == 6);
  CHECK(company.seen->evaluations == std::vector<std::int64_t>{6});
  CHECK(company.seen->snapshots.empty());
  company.evaluated();
  REQUIRE(company.seen->epochs.size() == 1);
  CHECK(company.seen->epochs[0]->test_accuracy == 0.5);
  CHECK(company.seen->epochs[0]->test_loss == 1.5);
  CHECK(company.seen->snapshots == std::vector<std::int64_t>{6, 6}); // both ranks
  CHECK(company.seen->limits.back() == 10);
}

TEST_CASE("the next checkpoint waits until the one before is written: there is one copy") {
  Company company;
  company.seen->is_slow = true;
  company.start();
  company.commit_all(0, 6);
  company.evaluated();
  CHECK(company.seen->limits.back() == 10); // training goes on
  company.commit_all(6, 12);
  company.evaluated();
  CHECK(company.seen->pieces.empty());
  CHECK_FALSE(company.seen->outcome);
  REQUIRE(company.scheduler.trigger_timeout());
  company.scheduler.run();
  CHECK(company.seen->pieces.size() == 2 * pieces);
  REQUIRE(company.seen->outcome);
  CHECK(company.seen->outcome->summary.checkpoints == 2);
}

TEST_CASE("a job completes with a summary; a failed write is counted and does not stop it") {
  Company company;
  company.seen->failing_writes = 1;
  company.start();
  company.commit_all(0, 6);
  company.evaluated();
  company.commit_all(6, 12);
  company.evaluated();
  REQUIRE(company.seen->outcome);
  const auto& summary = company.seen->outcome->summary;
  CHECK(summary.status == "completed");
  CHECK(summary.steps == 12);
  CHECK(summary.epochs == 2);
  CHECK(summary.samples == 96);
  CHECK(summary.checkpoints == 1);
  CHECK(summary.checkpoint_failures == 1);
  CHECK(summary.parameters_sha256 == "digest");
}

TEST_CASE("stop lets granted steps finish on all ranks, then saves and ends") {
  Company company;
  company.start();
  company.commit_all(0, 1);
  company.self->send(company.coordinator, atom::stop_v);
  company.scheduler.run();
  CHECK(company.seen->limits.back() == 5);
  company.commit_all(1, 5);
  CHECK(company.seen->limits.back() == 5);
  CHECK(company.seen->snapshots.empty()); // nothing is trained on: the state itself is saved
  using Piece = std::pair<std::int64_t, std::uint64_t>;
  CHECK(company.seen->pieces == std::vector<Piece>{{5, 0}, {5, 0}, {5, 1}, {5, 1}}); // both ranks
  REQUIRE(company.seen->outcome);
  CHECK(company.seen->outcome->summary.status == "stopped");
  CHECK(company.seen->writes == std::vector<bool>{true});
}

TEST_CASE("a job whose last checkpoint is not written has failed, also when it was asked to stop") {
  Company company;
  company.seen->failing_writes = 2;
  company.start();
  company.commit_all(0, 6);
  SECTION("completed") {
    company.evaluated();
    company.commit_all(6, 12);
    company.evaluated();
  }
  SECTION("stopped") {
    company.self->send(company.coordinator, atom::stop_v);
    company.scheduler.run();
    company.evaluated();
  }
  REQUIRE(company.seen->outcome);
  CHECK(company.seen->outcome->summary.status == "failed");
  REQUIRE(company.seen->outcome->error);
  CHECK(company.seen->outcome->error->code == Errc::no_space);
  CHECK(company.seen->outcome->error->message ==
        "the last checkpoint was not written: the disk is full");
}

TEST_CASE("a failure ends the job at once and says what failed") {
  Company company;
  company.start();
  company.commit_all(0, 2);
  company.self->send(company.coordinator, atom::failed_v,
                     Error{Errc::numeric, "the loss is nan", {.rank = 1, .step = 2}});
  company.scheduler.run();
  REQUIRE(company.seen->outcome);
  CHECK(company.seen->outcome->summary.status == "failed");
  REQUIRE(company.seen->outcome->error);
  CHECK(company.seen->outcome->error->where.step == 2);
  company.commit_all(2, 3); // late messages change nothing
  CHECK(company.seen->steps.size() == 2);
}

TEST_CASE("nodes show what the job does, each once") {
  using enum metrics::JobPhase;
  Company company;
  company.start();
  company.commit_all(0, 6);
  company.evaluated();
  CHECK(company.seen->phases ==
        std::vector<metrics::JobPhase>{training, evaluating, saving, training});
}

TEST_CASE("a loss that is not finite is shown, and then ends the job") {
  Company company;
  company.start();
  company.self->send(company.coordinator, atom::failed_v, std::numeric_limits<double>::infinity());
  company.scheduler.run();
  CHECK(company.seen->failed_losses ==
        std::vector<double>{std::numeric_limits<double>::infinity()});
  CHECK_FALSE(company.seen->outcome);
}

TEST_CASE("a job that fails while its state is copied has ended, and trains no further") {
  Company company;
  company.start();
  company.commit_all(0, 6);
  for (int rank = 0; rank < 2; ++rank)
    company.self->send(company.coordinator, atom::evaluated_v,
                       EvaluationReport{rank, 6, 3.0, {2, 1}});
  company.self->send(company.coordinator, atom::failed_v, Error{Errc::internal, "broken"});
  company.scheduler.run();
  REQUIRE_FALSE(company.seen->snapshots.empty());
  REQUIRE(company.seen->outcome);
  CHECK(company.seen->limits.back() == 6);
  std::string phase;
  auto asked = company.self->request(company.coordinator, caf::infinite, atom::status_v);
  company.scheduler.run();
  asked.receive([&](const JobStatus& status) { phase = status.phase; }, [](const caf::error&) {});
  CHECK(phase == "ended");
}

TEST_CASE("a node that is gone is dead in the status, and the others are not") {
  Company company{0, {{"a:1", "a", 0, 1}, {"b:1", "b", 1, 1}}};
  company.start();
  company.self->send(company.coordinator, atom::lost_v, std::string{"b:1"});
  company.self->send(company.coordinator, atom::failed_v,
                     Error{Errc::network, "node b:1 is gone", {.node = "b:1"}});
  company.scheduler.run();
  std::vector<std::string> states;
  auto asked = company.self->request(company.coordinator, caf::infinite, atom::status_v);
  company.scheduler.run();
  asked.receive(
      [&](const JobStatus& status) {
        CHECK(status.error == "network: node b:1 is gone (node b:1)");
        for (const auto& node : status.nodes)
          states.push_back(node.state);
      },
      [](const caf::error&) {});
  CHECK(states == std::vector<std::string>{"active", "dead"});
}

TEST_CASE("the summary names the last checkpoint that was written") {
  Company company;
  company.start();
  company.commit_all(0, 6);
  company.seen->failing_writes = 1;
  company.evaluated();
  company.self->send(company.coordinator, atom::stop_v);
  company.commit_all(6, 10);
  REQUIRE(company.seen->outcome);
  CHECK(company.seen->outcome->summary.checkpoint == "somewhere");
}

TEST_CASE("a resumed job goes on from its first step; a finished one ends without training") {
  Company company{7};
  company.start();
  CHECK(company.seen->limits == std::vector<std::int64_t>{11});
  Company finished{12};
  finished.start();
  REQUIRE(finished.seen->outcome);
  CHECK(finished.seen->outcome->summary.status == "completed");
  CHECK(finished.seen->writes == std::vector<bool>{false});
}
