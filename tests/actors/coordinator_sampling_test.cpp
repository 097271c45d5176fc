// When samples of text are written.
#include "tests/actors/coordinator_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <utility>
#include <vector>

using namespace troupe;
using namespace troupe::actors;

namespace {

using Gathered = std::vector<std::pair<std::int64_t, std::uint64_t>>;

/// A sample after 4, 8 and 12 steps; an evaluation and a checkpoint after 6 and 12.
struct SamplingCompany : test::Company {
  explicit SamplingCompany(std::int64_t steps_of_a_round = 1)
      : test::Company{0,
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

TEST_CASE(
    "a sample's parameters are gathered at a pause, and training goes on while it is written") {
  SamplingCompany company;
  company.seen->writes_slowly = true;
  company.start();
  CHECK(company.seen->limits == Steps{4});
  company.commit_all(0, 4);
  CHECK(company.seen->gathered == Gathered{{4, 0}, {4, 1}});
  CHECK(company.seen->pieces == Gathered{{4, 0}, {4, 1}}); // the other rank contributes
  CHECK(company.seen->snapshots.empty());
  CHECK(company.seen->limits.back() == 6);
  CHECK(company.samples().empty());
  company.move_the_clock();
  CHECK(company.samples() == Steps{4});
}

TEST_CASE("the next sample waits until the one before is written") {
  SamplingCompany company;
  company.seen->writes_slowly = true;
  company.start();
  company.commit_all(0, 6);
  company.evaluated();
  company.commit_all(6, 8);
  CHECK(company.seen->gathered.size() == test::pieces);
  CHECK(company.seen->limits.back() == 8);
  company.move_the_clock();
  CHECK(company.seen->gathered.size() == 2 * test::pieces);
  CHECK(company.seen->limits.back() == 12);
  CHECK(company.samples() == Steps{4});
}

TEST_CASE("a job writes its last sample, and ends when that is there") {
  SamplingCompany company;
  company.start();
  company.commit_all(0, 6);
  company.evaluated();
  company.commit_all(6, 12);
  company.seen->writes_slowly = true;
  company.evaluated();
  CHECK(company.samples() == Steps{4, 8});
  CHECK(company.seen->checkpoints.size() == 2); // is not waited for by the last checkpoint
  CHECK_FALSE(company.seen->outcome);
  company.move_the_clock();
  CHECK(company.samples() == Steps{4, 8, 12});
  REQUIRE(company.seen->outcome);
  CHECK(company.seen->outcome->summary.status == "completed");
  CHECK(company.seen->outcome->summary.parameters_sha256 == "digest");
}

TEST_CASE("a sample that cannot be written is told, and ends nothing") {
  SamplingCompany company;
  company.seen->failing_samples = 1;
  company.train_to_the_end();
  REQUIRE(company.seen->unwritten_samples.size() == 1);
  const auto& [step, why] = company.seen->unwritten_samples[0];
  CHECK(step == 4);
  CHECK(why.code == Errc::out_of_memory);
  CHECK(why.message == "there is no room");
  CHECK(company.samples() == Steps{8, 12});
  REQUIRE(company.seen->outcome);
  CHECK(company.seen->outcome->summary.status == "completed");
}

TEST_CASE("a generator that dies ends the job, which says so") {
  SamplingCompany company;
  company.seen->writes_slowly = true;
  company.start();
  company.commit_all(0, 4);
  company.self->send_exit(company.generator, caf::exit_reason::kill);
  company.scheduler.run();
  REQUIRE(company.seen->outcome);
  REQUIRE(company.seen->outcome->error);
  CHECK(company.seen->outcome->error->where.actor == "generator");
  CHECK(company.seen->outcome->error->message.starts_with(
      "the generator did not write the sample of step 4: "));
}

TEST_CASE("ranks that train apart do not meet for a sample") {
  SamplingCompany company{100};
  company.start();
  company.commit_all(0, 4);
  CHECK(company.samples() == Steps{4});
  CHECK(company.seen->meetings.empty());
  company.commit_all(4, 6); // an evaluation
  CHECK(company.seen->meetings == Steps{6, 6});
}

TEST_CASE("the next generation waits for a sample that is being written") {
  SamplingCompany company;
  company.seen->writes_slowly = true;
  company.start();
  company.commit_all(0, 4);
  bool quiet = false;
  company.system.spawn([&](caf::event_based_actor* membership) {
    membership->request(company.coordinator, caf::infinite, atom::halt_v, false).then([&] {
      quiet = true;
    });
  });
  company.scheduler.run();
  company.commit_all(4, 6);
  company.evaluated();
  CHECK_FALSE(quiet);
  company.move_the_clock();
  CHECK(company.samples() == Steps{4});
  CHECK(quiet);
}

TEST_CASE("a job that is stopped writes a sample where one is due, and none elsewhere") {
  SamplingCompany company;
  company.start();
  company.commit_all(0, 1);
  company.self->send(company.coordinator, atom::stop_v);
  company.scheduler.run();
  company.commit_all(1, 4); // granted before
  CHECK(company.samples() == Steps{4});
  REQUIRE(company.seen->outcome);
  CHECK(company.seen->outcome->summary.status == "stopped");
  SamplingCompany other;
  other.start();
  other.commit_all(0, 5);
  other.self->send(other.coordinator, atom::stop_v);
  other.scheduler.run();
  other.commit_all(5, 6);
  other.evaluated();
  CHECK(other.samples() == Steps{4});
  CHECK(other.seen->outcome);
}
