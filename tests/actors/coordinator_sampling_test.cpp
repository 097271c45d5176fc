// Tests when samples of text are written.
#include "tests/actors/coordinator_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <utility>
#include <vector>

using namespace troupe;
using namespace troupe::actors;

namespace {

using Gathered = std::vector<std::pair<std::int64_t, std::uint64_t>>;

/// Writes a sample after 4, 8 and 12 steps; evaluates and writes a checkpoint after 6 and 12.
struct SamplingRuntime : test::NodeRuntime {
  explicit SamplingRuntime(std::int64_t steps_of_a_round = 1)
      : test::NodeRuntime{0,
                          {{"here", "here", "here:1", 0, 2}},
                          BestSoFar{},
                          false,
                          false,
                          steps_of_a_round,
                          {Interval::Unit::steps, 4}} {}

  void train_to_the_end() {
    start();
    commit_all(0, 6);
    evaluated();
    commit_all(6, 12);
    evaluated();
  }
  void move_the_clock() {
    REQUIRE(scheduler.trigger_timeout());
    scheduler.run();
  }
  std::vector<std::int64_t> samples() const {
    std::vector<std::int64_t> steps;
    for (const auto& record : seen->samples)
      steps.push_back(record->step);
    return steps;
  }
};

using Steps = std::vector<std::int64_t>;

} // namespace

TEST_CASE("parameters for a sample are gathered during a pause, and training continues while it is "
          "written") {
  SamplingRuntime runtime;
  runtime.seen->writes_slowly = true;
  runtime.start();
  CHECK(runtime.seen->limits == Steps{4});
  runtime.commit_all(0, 4);
  CHECK(runtime.seen->gathered == Gathered{{4, 0}, {4, 1}});
  CHECK(runtime.seen->chunks == Gathered{{4, 0}, {4, 1}}); // from the other rank
  CHECK(runtime.seen->snapshots.empty());
  CHECK(runtime.seen->limits.back() == 6);
  CHECK(runtime.samples().empty());
  runtime.move_the_clock();
  CHECK(runtime.samples() == Steps{4});
}

TEST_CASE("the next sample waits until the previous one is written") {
  SamplingRuntime runtime;
  runtime.seen->writes_slowly = true;
  runtime.start();
  runtime.commit_all(0, 6);
  runtime.evaluated();
  runtime.commit_all(6, 8);
  CHECK(runtime.seen->gathered.size() == test::chunks);
  CHECK(runtime.seen->limits.back() == 8);
  runtime.move_the_clock();
  CHECK(runtime.seen->gathered.size() == 2 * test::chunks);
  CHECK(runtime.seen->limits.back() == 12);
  CHECK(runtime.samples() == Steps{4});
}

TEST_CASE("a job waits for its last sample before it ends") {
  SamplingRuntime runtime;
  runtime.start();
  runtime.commit_all(0, 6);
  runtime.evaluated();
  runtime.commit_all(6, 12);
  runtime.seen->writes_slowly = true;
  runtime.evaluated();
  CHECK(runtime.samples() == Steps{4, 8});
  CHECK(runtime.seen->checkpoints.size() == 2); // the last checkpoint does not wait for the sample
  CHECK_FALSE(runtime.seen->outcome);
  runtime.move_the_clock();
  CHECK(runtime.samples() == Steps{4, 8, 12});
  REQUIRE(runtime.seen->outcome);
  CHECK(runtime.seen->outcome->summary.status == "completed");
  CHECK(runtime.seen->outcome->summary.parameters_sha256 == "digest");
}

TEST_CASE("a sample that cannot be written is reported and does not end the job") {
  SamplingRuntime runtime;
  runtime.seen->failing_samples = 1;
  runtime.train_to_the_end();
  REQUIRE(runtime.seen->unwritten_samples.size() == 1);
  const auto& [step, why] = runtime.seen->unwritten_samples[0];
  CHECK(step == 4);
  CHECK(why.code == Errc::out_of_memory);
  CHECK(why.message == "there is no room");
  CHECK(runtime.samples() == Steps{8, 12});
  REQUIRE(runtime.seen->outcome);
  CHECK(runtime.seen->outcome->summary.status == "completed");
}

TEST_CASE("a generator that dies ends the job with an error") {
  SamplingRuntime runtime;
  runtime.seen->writes_slowly = true;
  runtime.start();
  runtime.commit_all(0, 4);
  runtime.self->send_exit(runtime.generator, caf::exit_reason::kill);
  runtime.scheduler.run();
  REQUIRE(runtime.seen->outcome);
  REQUIRE(runtime.seen->outcome->error);
  CHECK(runtime.seen->outcome->error->where.actor == "generator");
  CHECK(runtime.seen->outcome->error->message.starts_with(
      "the generator did not write the sample of step 4: "));
}

TEST_CASE("ranks that train apart do not synchronize for a sample") {
  SamplingRuntime runtime{100};
  runtime.start();
  runtime.commit_all(0, 4);
  CHECK(runtime.samples() == Steps{4});
  CHECK(runtime.seen->meetings.empty());
  runtime.commit_all(4, 6); // an evaluation follows
  CHECK(runtime.seen->meetings == Steps{6, 6});
}

TEST_CASE("the next generation waits for a sample that is being written") {
  SamplingRuntime runtime;
  runtime.seen->writes_slowly = true;
  runtime.start();
  runtime.commit_all(0, 4);
  bool quiet = false;
  runtime.system.spawn([&](caf::event_based_actor* membership) {
    membership->request(runtime.coordinator, caf::infinite, atom::halt_v, false).then([&] {
      quiet = true;
    });
  });
  runtime.scheduler.run();
  runtime.commit_all(4, 6);
  runtime.evaluated();
  CHECK_FALSE(quiet);
  runtime.move_the_clock();
  CHECK(runtime.samples() == Steps{4});
  CHECK(quiet);
}

TEST_CASE("a stopped job writes a sample only if one is due at its last step") {
  SamplingRuntime runtime;
  runtime.start();
  runtime.commit_all(0, 1);
  runtime.self->send(runtime.coordinator, atom::stop_v, asked_to_stop());
  runtime.scheduler.run();
  runtime.commit_all(1, 4); // steps that were granted before
  CHECK(runtime.samples() == Steps{4});
  REQUIRE(runtime.seen->outcome);
  CHECK(runtime.seen->outcome->summary.status == "stopped");
  SamplingRuntime other;
  other.start();
  other.commit_all(0, 5);
  other.self->send(other.coordinator, atom::stop_v, asked_to_stop());
  other.scheduler.run();
  other.commit_all(5, 6);
  other.evaluated();
  CHECK(other.samples() == Steps{4});
  CHECK(other.seen->outcome);
}
