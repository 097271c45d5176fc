#include "tests/support/scratch_folder.hpp"
#include "tests/support/single_node_job.hpp"
#include "training/job.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <fstream>

using namespace troupe;
using namespace troupe::training;
using Catch::Approx;
using Unit = Length::Unit;

namespace {

/// A text of 1000 bytes, one token each: 10 steps of 96 tokens per epoch.
class Registry {
public:
  Registry() {
    std::ofstream{folder_ / "book.txt"} << std::string(1000, 'a');
    config.data.dataset = "text";
    config.data.root = (folder_ / "book.txt").string();
    config.data.sequence_length = 12;
    config.data.batch_size = 8;
    config.data.validation.share = 0;
    config.run.output = (folder_ / "runs").string();
    config.model.name = "gpt2-mini";
    config.devices.kind = DeviceKind::cpu;
    config.checkpoint.resume.kind = ResumeConfig::Kind::never;
    config.train.evaluate_every = 0;
    config.train.epochs.reset();
  }
  auto open() const { return open_job(config, {}); }

  Config config;

private:
  testing::ScratchFolder folder_;
};

} // namespace

TEST_CASE("a job that ends by tokens has the schedule of the equal number of steps") {
  Registry registry;
  registry.config.train.max_tokens = 30 * 96;
  registry.config.train.optimizer.lr = 0.5;
  registry.config.train.schedule = {.name = ScheduleKind::wsd,
                                    .warmup = {4 * 96, Unit::tokens},
                                    .decay = {20, Unit::percent},
                                    .min_lr = 0.1};
  const auto job = registry.open().value();
  CHECK(job->plan.steps_per_epoch() == 10);
  CHECK(job->plan.total_steps() == 30);
  CHECK(job->learning_rate(0) == 0.125);
  CHECK(job->learning_rate(3) == 0.5);
  CHECK(job->learning_rate(24) == 0.5);
  CHECK(job->learning_rate(29) == Approx(0.1 + 0.4 * (1 - std::sqrt(5 / 6.0))));
  CHECK(job->optimizer(29).lr == Approx(job->learning_rate(29)));
}

TEST_CASE("a schedule that does not fit is refused, unless max_steps shortens a longer run") {
  Registry registry;
  registry.config.train.max_tokens = 30 * 96;
  registry.config.train.schedule.warmup = {30, Unit::steps};
  const auto refused = registry.open();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::invalid_input);
  CHECK(refused.error().message ==
        "train.schedule.warmup: 30 steps of warm-up, but the run has only 30 steps");
  registry.config.train.max_steps = 2; // a trial run
  CHECK(registry.open().value()->plan.total_steps() == 2);
  registry.config.train.max_tokens.reset();
  CHECK_FALSE(registry.open()); // now max_steps is the intended length of the run
}
