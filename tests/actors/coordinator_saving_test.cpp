// When a job is saved, and how the last time ends it.
#include "tests/actors/coordinator_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <utility>
#include <vector>

using namespace troupe;
using namespace troupe::actors;
using test::Company;

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
  company.seen->is_slow = false;
  REQUIRE(company.scheduler.trigger_timeout());
  company.scheduler.run();
  CHECK(company.seen->pieces.size() == 2 * test::pieces);
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
  // One was copied, the other written while nothing is trained.
  REQUIRE(company.seen->saved.size() == 2);
  for (const auto& saved : company.seen->saved)
    CHECK(saved.pause_seconds > 0);
  REQUIRE(company.seen->epochs.size() == 2);
  for (const auto& epoch : company.seen->epochs) {
    CHECK(epoch->test_seconds.value() > 0);
    CHECK(epoch->seconds >= *epoch->test_seconds);
  }
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

TEST_CASE("who does not do its part of saving is named") {
  Company company;
  company.start();
  company.commit_all(0, 6);
  Where where;
  SECTION("a rank that gives nothing") {
    company.self->send_exit(company.others.back(), caf::exit_reason::kill); // of rank 1
    where = {.actor = "shard_manager", .rank = 1};
  }
  SECTION("the checkpointer") {
    company.self->send_exit(company.checkpointer, caf::exit_reason::kill);
    where = {.actor = "checkpointer"};
  }
  company.scheduler.run();
  company.evaluated();
  REQUIRE(company.seen->outcome);
  REQUIRE(company.seen->outcome->error);
  const auto& error = *company.seen->outcome->error;
  CHECK(error.message.starts_with("the " + where.actor + " did not save its part of the state: "));
  CHECK(error.where.actor == where.actor);
  CHECK(error.where.rank == where.rank);
  CHECK(error.where.step == 5);
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
  CHECK(company.seen->outcome->summary.test_loss == 1.5);
}

TEST_CASE("ranks that write their parts are all waited for, and the digest comes last") {
  Company company{0, {{"here", "here", "here:1", 0, 2}}, BestSoFar{}, true};
  company.start();
  company.commit_all(0, 6);
  company.evaluated();
  REQUIRE(company.seen->checkpoints.size() == 1);
  const auto& parts = company.seen->checkpoints[0].parts;
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].rank == 0);
  CHECK(parts[1].rank == 1);
  CHECK(company.seen->checkpoints[0].results.at("test_loss") == "1.5");
  company.commit_all(6, 12);
  company.evaluated();
  REQUIRE(company.seen->outcome);
  CHECK(company.seen->outcome->summary.checkpoints == 2);
  CHECK(company.seen->outcome->summary.parameters_sha256 == "digest");
  CHECK(company.seen->writes == std::vector<bool>{true, true, false});
}

TEST_CASE("an evaluation that is the best so far is saved, whether a checkpoint is due or not") {
  Company company{0, {{"here", "here", "here:1", 0, 2}}, BestSoFar{"loss", 2.0}};
  company.start();
  company.commit_all(0, 6);
  company.evaluated(); // a loss of 1.5
  REQUIRE(company.seen->checkpoints.size() == 1);
  CHECK(company.seen->checkpoints[0].is_best);
  company.commit_all(6, 12);
  company.evaluated(); // and again
  REQUIRE(company.seen->checkpoints.size() == 2);
  CHECK_FALSE(company.seen->checkpoints[1].is_best);
}

TEST_CASE("the digest is that of the last parameters, not of an earlier checkpoint") {
  Company company{0, {{"here", "here", "here:1", 0, 2}}, BestSoFar{"loss"}, false, true};
  company.start();
  company.commit_all(0, 6);
  company.evaluated(); // the best so far: saved
  REQUIRE(company.seen->checkpoints.size() == 1);
  company.commit_all(6, 12);
  company.evaluated(); // no better: not saved
  REQUIRE(company.seen->outcome);
  CHECK(company.seen->writes == std::vector<bool>{true, false}); // and hashed
}

TEST_CASE("what is better depends on the metric") {
  BestSoFar none{"none"}, accuracy{"accuracy"}, loss{"loss", 1.0};
  CHECK_FALSE(none.beat({.loss = 1, .accuracy = 1}));
  CHECK(accuracy.beat({.loss = 1, .accuracy = 0.5}));
  CHECK_FALSE(accuracy.beat({.loss = 0.1, .accuracy = 0.5}));
  CHECK(accuracy.beat({.loss = 9, .accuracy = 0.6}));
  CHECK_FALSE(accuracy.beat({.loss = 0.1}));
  CHECK_FALSE(loss.beat({.loss = 1.0}));
  CHECK(loss.beat({.loss = 0.9}));
}
