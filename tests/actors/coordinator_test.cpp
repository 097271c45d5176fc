#include "tests/actors/coordinator_fixture.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::actors;
using test::NodeRuntime;

TEST_CASE("a job starts when all ranks have joined, and grants a window of steps") {
  NodeRuntime runtime;
  runtime.self->send(runtime.coordinator, atom::run_v);
  runtime.join(0);
  CHECK(runtime.seen->limits.empty());
  runtime.join(1);
  CHECK(runtime.seen->limits == std::vector<std::int64_t>{4});
}

TEST_CASE("a rank with training data other than the leader's ends the job") {
  NodeRuntime runtime;
  runtime.self->send(runtime.coordinator, atom::run_v);
  runtime.join(0);
  RankInfo other{.rank = 1, .metrics = {}, .device = "b"};
  std::string difference;
  SECTION("by number") {
    other.samples = 5;
    difference = "5 training samples here, 0 at the leader";
  }
  SECTION("by content") {
    other.data = "abc";
    difference = "the fingerprint of the training data is abc here and  at the leader:";
  }
  runtime.self->send(runtime.coordinator, atom::join_v, other, worker_actor{},
                     shard_manager_actor{}, runtime.metrics);
  runtime.scheduler.run();
  REQUIRE(runtime.seen->outcome);
  REQUIRE(runtime.seen->outcome->error);
  CHECK(runtime.seen->outcome->error->code == Errc::data);
  CHECK(runtime.seen->outcome->error->message.starts_with(difference));
}

TEST_CASE("a node with training data other than the leader's is reported, and the job continues") {
  NodeRuntime runtime{0, {{"a:1", "a", "a:2", 0, 1}, {"b:1", "b", "b:2", 1, 1}}};
  runtime.self->send(runtime.coordinator, atom::run_v);
  runtime.join(0);
  runtime.self->send(runtime.coordinator, atom::join_v,
                     RankInfo{.rank = 1, .metrics = {}, .device = "b", .data = "abc"},
                     worker_actor{}, shard_manager_actor{}, runtime.metrics);
  runtime.scheduler.run();
  CHECK_FALSE(runtime.seen->outcome);
  REQUIRE(runtime.seen->failures.size() == 1);
  CHECK(runtime.seen->failures.front().error.code == Errc::data);
  CHECK(runtime.seen->failures.front().error.where.node == "b:1");
}

TEST_CASE("messages that name a rank outside of the generation are ignored") {
  NodeRuntime runtime;
  runtime.self->send(runtime.coordinator, atom::run_v);
  for (const int rank : {-1, 2, 1'000'000'000}) {
    runtime.self->send(runtime.coordinator, atom::join_v,
                       RankInfo{.rank = rank, .metrics = {}, .device = "b"}, worker_actor{},
                       shard_manager_actor{}, runtime.metrics);
    runtime.self->send(runtime.coordinator, atom::step_committed_v, StepReport{.rank = rank});
    runtime.self->send(runtime.coordinator, atom::measure_v, rank, 1e9);
  }
  runtime.join(0);
  runtime.join(1);
  CHECK(runtime.seen->limits == std::vector<std::int64_t>{4});
  runtime.self->send(runtime.coordinator, atom::failed_v,
                     Error{Errc::internal, "it broke", {.rank = 1'000'000'000}});
  runtime.scheduler.run();
  REQUIRE(runtime.seen->outcome);
  CHECK(runtime.seen->outcome->error->message == "it broke");
}

TEST_CASE("a step is committed when all ranks have committed it") {
  NodeRuntime runtime;
  runtime.start();
  runtime.commit(0, 0, 1.0);
  CHECK(runtime.seen->steps.empty());
  CHECK(runtime.seen->limits.size() == 1);
  runtime.commit(1, 0, 3.0);
  REQUIRE(runtime.seen->steps.size() == 1);
  CHECK(runtime.seen->steps[0]->loss == 2.0);
  CHECK(runtime.seen->steps[0]->samples == 8);
  CHECK(runtime.seen->steps[0]->accuracy == 0.5);
  CHECK(runtime.seen->limits == std::vector<std::int64_t>{4, 5});
}

TEST_CASE("reports of the ranks are combined by kind of collective and by rank") {
  using metrics::CollectiveKind;
  const auto of = [](CollectiveKind kind) { return static_cast<std::size_t>(kind); };
  NodeRuntime runtime;
  runtime.start();
  for (std::int64_t step = 0; step < 2; ++step)
    for (std::int32_t rank = 0; rank < 2; ++rank) {
      StepReport report{.rank = rank,
                        .overlapped = std::chrono::seconds{1},
                        .optimizer = std::chrono::seconds{2 * rank}};
      report.worker = {.step = step,
                       .loss = 1,
                       .samples = 4,
                       .busy = std::chrono::seconds{3 + rank},
                       .data_wait = std::chrono::seconds{rank},
                       .ready_batches = step + rank};
      report.collectives[of(CollectiveKind::all_gather)] = {100, std::chrono::seconds{4}};
      report.collectives[of(CollectiveKind::all_reduce)] = {8, std::chrono::seconds{2 * rank}};
      report.squared_norm = rank == 0 ? 4 : 9; // only rank 0 may have the sums
      runtime.self->send(runtime.coordinator, atom::step_committed_v, report);
      runtime.scheduler.run();
    }
  const auto& record = *runtime.seen->steps.at(1);
  CHECK(record.collectives[of(CollectiveKind::all_gather)] == metrics::CollectiveUse{200, 4});
  CHECK(record.collectives[of(CollectiveKind::all_reduce)] == metrics::CollectiveUse{16, 1});
  CHECK(record.collectives[of(CollectiveKind::broadcast)] == metrics::CollectiveUse{});
  CHECK(record.collective_bytes == 216);
  CHECK(record.collective_seconds == 5);
  CHECK(record.optimizer_seconds == 1);
  CHECK(record.gradient_norm == 2);
  REQUIRE(runtime.seen->workers.size() == 2);
  const auto& second = runtime.seen->workers[1];
  CHECK(second.steps == 2);
  CHECK(second.compute_seconds == 8);
  CHECK(second.data_wait_seconds == 2);
  CHECK(second.collective_seconds == 10); // excludes collectives that overlapped computation
  CHECK(second.optimizer_seconds == 4);
  CHECK(second.step_seconds ==
        runtime.seen->steps.at(0)->seconds + runtime.seen->steps.at(1)->seconds);
  CHECK(second.busy_ratio == Catch::Approx(8 / second.step_seconds)); // evaluations do not count
  CHECK(second.ready_batches == 2);
}

TEST_CASE("a gradient norm that was not measured is not reported") {
  NodeRuntime runtime;
  runtime.start();
  runtime.commit_all(0, 1);
  CHECK_FALSE(runtime.seen->steps.at(0)->gradient_norm);
}

TEST_CASE("the MFU of a step is relative to the sum of all devices' peaks") {
  NodeRuntime runtime;
  runtime.peaks = {1e12, 2e12};
  runtime.start();
  runtime.commit_all(0, 1);
  const auto& step = *runtime.seen->steps.at(0);
  REQUIRE(step.mfu);
  CHECK(*step.mfu == Catch::Approx(6e9 / step.seconds / 3e12));
}

TEST_CASE("peaks are measured again at a pause, and the largest one counts from then on") {
  NodeRuntime runtime;
  runtime.peaks = {1e12, 1e12};
  runtime.start();
  runtime.commit_all(0, 6);
  CHECK(runtime.seen->measuring == std::vector<std::int32_t>{0}); // the ranks share a node
  runtime.measured(0, 3e12);
  runtime.evaluated();
  runtime.commit_all(6, 7);
  CHECK(runtime.seen->steps.at(5)->peak_operations == 2e12);
  CHECK(runtime.seen->steps.at(6)->peak_operations == 6e12);
  CHECK(runtime.seen->workers.at(1).peak_operations == 3e12);
  CHECK(runtime.seen->measuring.size() ==
        1); // the checkpoint of that step requests no other measurement
  runtime.measured(0, 2e12);
  runtime.commit_all(7, 8);
  CHECK(runtime.seen->steps.at(7)->peak_operations == 6e12);
}

TEST_CASE("each node measures its own peak") {
  NodeRuntime runtime{0, {{"a", "a", "a:1", 0, 1}, {"b", "b", "b:1", 1, 1}}};
  runtime.peaks = {1e12, 1e12};
  runtime.start();
  runtime.commit_all(0, 6);
  CHECK(runtime.seen->measuring == std::vector<std::int32_t>{0, 1});
  runtime.measured(1, 2e12);
  runtime.evaluated();
  runtime.commit_all(6, 7);
  CHECK(runtime.seen->workers.at(0).peak_operations == 1e12);
  CHECK(runtime.seen->workers.at(1).peak_operations == 2e12);
}

TEST_CASE("MFU is not reported if the peak of one device is unknown") {
  NodeRuntime runtime;
  runtime.peaks = {1e12, 0};
  runtime.start();
  runtime.commit_all(0, 1);
  CHECK_FALSE(runtime.seen->steps.at(0)->mfu);
}

TEST_CASE("a failure ends the job at once with its error") {
  NodeRuntime runtime;
  runtime.start();
  runtime.commit_all(0, 2);
  runtime.self->send(runtime.coordinator, atom::failed_v,
                     Error{Errc::numeric, "the loss is nan", {.rank = 1, .step = 2}});
  runtime.scheduler.run();
  REQUIRE(runtime.seen->outcome);
  CHECK(runtime.seen->outcome->summary.status == "failed");
  REQUIRE(runtime.seen->outcome->error);
  CHECK(runtime.seen->outcome->error->where.step == 2);
  runtime.commit_all(2, 3); // late messages have no effect
  CHECK(runtime.seen->steps.size() == 2);
}

TEST_CASE("a second failure does not replace the first") {
  NodeRuntime runtime;
  runtime.start();
  for (const char* why : {"the first", "the second"})
    runtime.self->send(runtime.coordinator, atom::failed_v, Error{Errc::device, why});
  runtime.scheduler.run();
  REQUIRE(runtime.seen->outcome);
  CHECK(runtime.seen->outcome->error->message == "the first");
}

TEST_CASE("a failure without a step is attributed to the current step") {
  NodeRuntime runtime;
  runtime.start();
  const Error died{Errc::internal, "the worker died", {.actor = "worker", .rank = 1}};
  SECTION("during training") {
    runtime.commit_all(0, 2);
    runtime.self->send(runtime.coordinator, atom::failed_v, died);
    runtime.scheduler.run();
    CHECK(runtime.seen->outcome->error->to_string() ==
          "internal: the worker died (node here, rank 1, step 3, actor worker)");
  }
  SECTION("during evaluation") {
    runtime.commit_all(0, 6);
    runtime.self->send(runtime.coordinator, atom::failed_v, died);
    runtime.scheduler.run();
    CHECK(runtime.seen->outcome->error->where.step == 5);
  }
}

TEST_CASE(
    "after a failed collective, ranks that never reached it are named, not those that report it") {
  using Behind = std::vector<std::string>;
  NodeRuntime runtime{0, {{"a:1", "a", "a:2", 0, 1}, {"b:1", "b", "b:2", 1, 1}}};
  runtime.start();
  runtime.commit_all(0, 2);
  const auto code = GENERATE(Errc::collective, Errc::network);
  const auto fails = [&](int rank) {
    runtime.self->send(runtime.coordinator, atom::failed_v,
                       Error{code, "no word for 60s", {.rank = rank}});
    runtime.scheduler.run();
  };
  fails(0);
  Behind expected;
  SECTION("one rank has not reached it") {
    expected = {"b:1"};
  }
  SECTION("one rank has not finished the previous step") {
    fails(1);
    runtime.commit(1, 2);
    expected = {"a:1"};
  }
  SECTION("all ranks have reached it") {
    fails(1);
  }
  CHECK(runtime.seen->failures.empty()); // waits, because a lost node would explain the failures
  runtime.scheduler.advance_time(std::chrono::seconds{5});
  runtime.scheduler.run();
  REQUIRE(runtime.seen->failures.size() == 1);
  CHECK(runtime.seen->failures.front().error.where.node == "a:1");
  CHECK(runtime.seen->failures.front().behind == expected);
  CHECK_FALSE(runtime.seen->outcome);
}

TEST_CASE("a run that loses METRICS has failed, because its logs are incomplete") {
  NodeRuntime runtime;
  RunOutcomePtr outcome;
  auto asked = runtime.self->request(runtime.coordinator, caf::infinite, atom::run_v);
  runtime.join(0);
  runtime.join(1);
  runtime.commit_all(0, 6);
  runtime.evaluated();
  runtime.self->send_exit(runtime.metrics, caf::exit_reason::kill);
  runtime.commit_all(6, 12);
  runtime.evaluated();
  asked.receive([&](RunOutcomePtr& answer) { outcome = std::move(answer); },
                [](const caf::error& error) { FAIL(caf::to_string(error)); });
  CHECK(outcome->summary.status == "failed");
  REQUIRE(outcome->error);
  CHECK(outcome->error->where.actor == "metrics");
  CHECK(outcome->error->where.step == 11);
}

TEST_CASE("nodes report each phase of the job once") {
  using enum metrics::JobPhase;
  NodeRuntime runtime;
  runtime.start();
  runtime.commit_all(0, 6);
  runtime.evaluated();
  CHECK(runtime.seen->phases ==
        std::vector<metrics::JobPhase>{training, evaluating, saving, training});
}

TEST_CASE("a loss that is not finite is reported before it ends the job") {
  NodeRuntime runtime;
  runtime.start();
  runtime.self->send(runtime.coordinator, atom::failed_v, std::numeric_limits<double>::infinity());
  runtime.scheduler.run();
  CHECK(runtime.seen->failed_losses ==
        std::vector<double>{std::numeric_limits<double>::infinity()});
  CHECK_FALSE(runtime.seen->outcome);
}

TEST_CASE("a new generation waits for the current steps, and no further step begins") {
  NodeRuntime runtime;
  runtime.start();
  bool quiet = false;
  runtime.system.spawn([&](caf::event_based_actor* membership) {
    membership->request(runtime.coordinator, caf::infinite, atom::halt_v, false).then([&] {
      quiet = true;
    });
  });
  runtime.scheduler.run();
  CHECK_FALSE(quiet);
  runtime.commit_all(0, 4);
  CHECK(quiet);
  CHECK(runtime.seen->limits == std::vector<std::int64_t>{4});
}

TEST_CASE("a worker's request for a slice before its rank has joined is answered later") {
  NodeRuntime runtime{0,  {{"here", "here", "here:1", 0, 2}},    BestSoFar{}, false, false, 1,
                      {}, data::SliceAssignment::on_demand(2, 2)};
  for (const std::int32_t rank : {0, 1, 2, -1}) // a rank that does not exist is assigned none
    runtime.self->send(runtime.coordinator, atom::assign_v, rank);
  runtime.scheduler.run();
  runtime.start();
  std::ranges::sort(runtime.seen->assigned);
  CHECK(runtime.seen->assigned == std::vector<std::int32_t>{0, 1});
}

TEST_CASE("a step reported by only one rank when the generation ends is still recorded") {
  NodeRuntime runtime;
  runtime.start();
  runtime.commit_all(0, 1);
  runtime.commit(1, 1);
  RunTotalsPtr totals;
  auto asked = runtime.self->request(runtime.coordinator, caf::infinite, atom::release_v);
  runtime.scheduler.run();
  asked.receive([&](const RunTotalsPtr& left) { totals = left; }, [](const caf::error&) {});
  REQUIRE(totals);
  CHECK(totals->steps.steps == 2);
  CHECK(runtime.seen->steps.size() == 2);
  // No late message ends the job.
  runtime.self->send(runtime.coordinator, atom::failed_v, Error{Errc::device, "lost"});
  runtime.scheduler.run();
  CHECK_FALSE(runtime.seen->outcome);
}

TEST_CASE("a resumed job continues at its first step, and a finished one ends without training") {
  NodeRuntime runtime{7};
  runtime.start();
  CHECK(runtime.seen->limits == std::vector<std::int64_t>{11});
  NodeRuntime finished{12};
  finished.start();
  REQUIRE(finished.seen->outcome);
  CHECK(finished.seen->outcome->summary.status == "completed");
  CHECK(finished.seen->writes == std::vector<bool>{false});
}

TEST_CASE(
    "ranks that train apart synchronize before an evaluation, unless a round has just ended") {
  const auto here = std::vector<training::MemberInfo>{{"here", "here", "here:1", 0, 2}};
  NodeRuntime runtime{0, here, BestSoFar{}, false, false, 4};
  runtime.start();
  runtime.commit_all(0, 6);
  CHECK(runtime.seen->meetings == std::vector<std::int64_t>{6, 6});
  CHECK(runtime.seen->evaluations == std::vector<std::int64_t>{6});
  runtime.evaluated();
  runtime.commit_all(6, 12); // the end of a round
  CHECK(runtime.seen->evaluations == std::vector<std::int64_t>{6, 12});
  CHECK(runtime.seen->meetings.size() == 2);
}

TEST_CASE("ranks that train apart synchronize before a generation ends") {
  const auto here = std::vector<training::MemberInfo>{{"here", "here", "here:1", 0, 2}};
  NodeRuntime runtime{0, here, BestSoFar{}, false, false, 4};
  runtime.start();
  runtime.commit_all(0, 1); // five steps are granted
  bool quiet = false;
  runtime.system.spawn([&](caf::event_based_actor* membership) {
    membership->request(runtime.coordinator, caf::infinite, atom::halt_v, false).then([&] {
      quiet = true;
    });
  });
  runtime.scheduler.run();
  runtime.commit_all(1, 4);
  CHECK_FALSE(quiet);
  CHECK(runtime.seen->meetings.empty());
  runtime.commit_all(4, 5);
  CHECK(runtime.seen->meetings == std::vector<std::int64_t>{5, 5});
  CHECK(quiet);
}
