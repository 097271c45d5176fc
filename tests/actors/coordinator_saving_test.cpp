// Tests when a job is saved, and how the last checkpoint ends it.
#include "tests/actors/coordinator_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <utility>
#include <vector>

using namespace troupe;
using namespace troupe::actors;
using test::NodeRuntime;

TEST_CASE("no step after a pause is granted before evaluation and snapshot are complete") {
  NodeRuntime runtime;
  runtime.start();
  runtime.commit_all(0, 6);
  CHECK(runtime.seen->limits.back() == 6);
  CHECK(runtime.seen->evaluations == std::vector<std::int64_t>{6});
  CHECK(runtime.seen->snapshots.empty());
  runtime.evaluated();
  REQUIRE(runtime.seen->epochs.size() == 1);
  CHECK(runtime.seen->epochs[0]->test_accuracy == 0.5);
  CHECK(runtime.seen->epochs[0]->test_loss == 1.5);
  CHECK(runtime.seen->snapshots == std::vector<std::int64_t>{6, 6}); // both ranks
  CHECK(runtime.seen->limits.back() == 10);
}

TEST_CASE("the next checkpoint waits until the previous one is written, as only one copy exists") {
  NodeRuntime runtime;
  runtime.seen->is_slow = true;
  runtime.start();
  runtime.commit_all(0, 6);
  runtime.evaluated();
  CHECK(runtime.seen->limits.back() == 10); // training continues
  runtime.commit_all(6, 12);
  runtime.evaluated();
  CHECK(runtime.seen->chunks.empty());
  CHECK_FALSE(runtime.seen->outcome);
  runtime.seen->is_slow = false;
  REQUIRE(runtime.scheduler.trigger_timeout());
  runtime.scheduler.run();
  CHECK(runtime.seen->chunks.size() == 2 * test::chunks);
  REQUIRE(runtime.seen->outcome);
  CHECK(runtime.seen->outcome->summary.checkpoints == 2);
}

TEST_CASE(
    "a job completes with a summary, and a failed checkpoint is counted without stopping it") {
  NodeRuntime runtime;
  runtime.seen->failing_writes = 1;
  runtime.start();
  runtime.commit_all(0, 6);
  runtime.evaluated();
  runtime.commit_all(6, 12);
  runtime.evaluated();
  REQUIRE(runtime.seen->outcome);
  const auto& summary = runtime.seen->outcome->summary;
  CHECK(summary.status == "completed");
  CHECK(summary.steps == 12);
  CHECK(summary.epochs == 2);
  CHECK(summary.samples == 96);
  CHECK(summary.checkpoints == 1);
  CHECK(summary.checkpoint_failures == 1);
  CHECK(summary.parameters_sha256 == "digest");
  // One state was copied; the other was written while no rank trained.
  REQUIRE(runtime.seen->saved.size() == 2);
  for (const auto& saved : runtime.seen->saved)
    CHECK(saved.pause_seconds > 0);
  REQUIRE(runtime.seen->epochs.size() == 2);
  for (const auto& epoch : runtime.seen->epochs) {
    CHECK(epoch->test_seconds.value() > 0);
    CHECK(epoch->seconds >= *epoch->test_seconds);
  }
}

TEST_CASE("stop finishes the granted steps on all ranks, then saves and ends") {
  NodeRuntime runtime;
  runtime.start();
  runtime.commit_all(0, 1);
  runtime.self->send(runtime.coordinator, atom::stop_v, asked_to_stop());
  runtime.scheduler.run();
  CHECK(runtime.seen->limits.back() == 5);
  runtime.commit_all(1, 5);
  CHECK(runtime.seen->limits.back() == 5);
  CHECK(runtime.seen->snapshots
            .empty()); // no training follows: the state itself is saved, without a copy
  using Piece = std::pair<std::int64_t, std::uint64_t>;
  CHECK(runtime.seen->chunks == std::vector<Piece>{{5, 0}, {5, 0}, {5, 1}, {5, 1}}); // both ranks
  REQUIRE(runtime.seen->outcome);
  CHECK(runtime.seen->outcome->summary.status == "stopped");
  CHECK(runtime.seen->writes == std::vector<bool>{true});
}

TEST_CASE("a job whose last checkpoint fails has failed, even if it was asked to stop") {
  NodeRuntime runtime;
  runtime.seen->failing_writes = 2;
  runtime.start();
  runtime.commit_all(0, 6);
  SECTION("completed") {
    runtime.evaluated();
    runtime.commit_all(6, 12);
    runtime.evaluated();
  }
  SECTION("stopped") {
    runtime.self->send(runtime.coordinator, atom::stop_v, asked_to_stop());
    runtime.scheduler.run();
    runtime.evaluated();
  }
  REQUIRE(runtime.seen->outcome);
  CHECK(runtime.seen->outcome->summary.status == "failed");
  REQUIRE(runtime.seen->outcome->error);
  CHECK(runtime.seen->outcome->error->code == Errc::no_space);
  CHECK(runtime.seen->outcome->error->message ==
        "the last checkpoint was not written: the disk is full");
}

TEST_CASE("an actor that does not take part in saving is named") {
  NodeRuntime runtime;
  runtime.start();
  runtime.commit_all(0, 6);
  Where where;
  SECTION("a rank that sends no chunks") {
    runtime.self->send_exit(runtime.others.back(), caf::exit_reason::kill); // an actor of rank 1
    where = {.actor = "shard_manager", .rank = 1};
  }
  SECTION("the checkpointer") {
    runtime.self->send_exit(runtime.checkpointer, caf::exit_reason::kill);
    where = {.actor = "checkpointer"};
  }
  runtime.scheduler.run();
  runtime.evaluated();
  REQUIRE(runtime.seen->outcome);
  REQUIRE(runtime.seen->outcome->error);
  const auto& error = *runtime.seen->outcome->error;
  CHECK(error.message.starts_with("the " + where.actor + " did not save its part of the state: "));
  CHECK(error.where.actor == where.actor);
  CHECK(error.where.rank == where.rank);
  CHECK(error.where.step == 5);
}

TEST_CASE("a job that fails while its state is copied ends and does not train on") {
  NodeRuntime runtime;
  runtime.start();
  runtime.commit_all(0, 6);
  for (int rank = 0; rank < 2; ++rank)
    runtime.self->send(runtime.coordinator, atom::evaluated_v,
                       EvaluationReport{rank, 6, 3.0, {2, 1}});
  runtime.self->send(runtime.coordinator, atom::failed_v, Error{Errc::internal, "broken"});
  runtime.scheduler.run();
  REQUIRE_FALSE(runtime.seen->snapshots.empty());
  REQUIRE(runtime.seen->outcome);
  CHECK(runtime.seen->limits.back() == 6);
  std::string phase;
  auto asked = runtime.self->request(runtime.coordinator, caf::infinite, atom::status_v);
  runtime.scheduler.run();
  asked.receive([&](const JobStatus& status) { phase = status.phase; }, [](const caf::error&) {});
  CHECK(phase == "ended");
}

TEST_CASE("the summary names the last checkpoint written") {
  NodeRuntime runtime;
  runtime.start();
  runtime.commit_all(0, 6);
  runtime.seen->failing_writes = 1;
  runtime.evaluated();
  runtime.self->send(runtime.coordinator, atom::stop_v, asked_to_stop());
  runtime.commit_all(6, 10);
  REQUIRE(runtime.seen->outcome);
  CHECK(runtime.seen->outcome->summary.checkpoint == "somewhere");
  CHECK(runtime.seen->outcome->summary.test_loss == 1.5);
}

TEST_CASE("saving waits for the shards of all ranks, and the digest comes last") {
  NodeRuntime runtime{0, {{"here", "here", "here:1", 0, 2}}, BestSoFar{}, true};
  runtime.start();
  runtime.commit_all(0, 6);
  runtime.evaluated();
  REQUIRE(runtime.seen->checkpoints.size() == 1);
  const auto& parts = runtime.seen->checkpoints[0].parts;
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].rank == 0);
  CHECK(parts[1].rank == 1);
  CHECK(runtime.seen->checkpoints[0].results.at("test_loss") == "1.5");
  runtime.commit_all(6, 12);
  runtime.evaluated();
  REQUIRE(runtime.seen->outcome);
  CHECK(runtime.seen->outcome->summary.checkpoints == 2);
  CHECK(runtime.seen->outcome->summary.parameters_sha256 == "digest");
  CHECK(runtime.seen->writes == std::vector<bool>{true, true, false});
}

TEST_CASE("the best evaluation so far is saved, even if no checkpoint is due") {
  NodeRuntime runtime{0, {{"here", "here", "here:1", 0, 2}}, BestSoFar{BestMetric::loss, 2.0}};
  runtime.start();
  runtime.commit_all(0, 6);
  runtime.evaluated(); // a loss of 1.5
  REQUIRE(runtime.seen->checkpoints.size() == 1);
  CHECK(runtime.seen->checkpoints[0].is_best);
  runtime.commit_all(6, 12);
  runtime.evaluated(); // the same loss
  REQUIRE(runtime.seen->checkpoints.size() == 2);
  CHECK_FALSE(runtime.seen->checkpoints[1].is_best);
}

TEST_CASE("the digest belongs to the last parameters, not to an earlier checkpoint") {
  NodeRuntime runtime{
      0, {{"here", "here", "here:1", 0, 2}}, BestSoFar{BestMetric::loss}, false, true};
  runtime.start();
  runtime.commit_all(0, 6);
  runtime.evaluated(); // the best so far: saved
  REQUIRE(runtime.seen->checkpoints.size() == 1);
  runtime.commit_all(6, 12);
  runtime.evaluated(); // no better: not saved
  REQUIRE(runtime.seen->outcome);
  CHECK(runtime.seen->writes == std::vector<bool>{true, false}); // the last state is only hashed
}

TEST_CASE("the metric determines whether higher or lower is better") {
  BestSoFar none{BestMetric::none}, accuracy{BestMetric::accuracy}, loss{BestMetric::loss, 1.0};
  CHECK_FALSE(none.beat({.loss = 1, .accuracy = 1}));
  CHECK(accuracy.beat({.loss = 1, .accuracy = 0.5}));
  CHECK_FALSE(accuracy.beat({.loss = 0.1, .accuracy = 0.5}));
  CHECK(accuracy.beat({.loss = 9, .accuracy = 0.6}));
  CHECK_FALSE(accuracy.beat({.loss = 0.1}));
  CHECK_FALSE(loss.beat({.loss = 1.0}));
  CHECK(loss.beat({.loss = 0.9}));
}
