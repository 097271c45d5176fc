#include "tests/system/experiment.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::testing;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

/// 8 steps per epoch, lr 0.05.
const Settings by_steps = {"model.name=linear", "train.epochs=null", "train.max_steps=20",
                           "train.schedule={name: wsd, warmup: 4 steps, decay: 25%, min_lr: 0.01}"};

} // namespace

TEST_CASE("a run ends at max_steps after any number of epochs, with its schedule's last rate") {
  const Experiment experiment{by_steps};
  const auto run = experiment.completed("run");
  CHECK(run.summary().at("steps") == 20);
  const auto rates = run.column<double>("lr");
  REQUIRE(rates.size() == 20);
  CHECK(rates[0] == Approx(0.05 / 4));
  for (std::size_t step = 3; step <= 15; ++step)
    CHECK(rates[step] == Approx(0.05));
  CHECK(rates[16] == Approx(0.01 + 0.04 * (1 - std::sqrt(0.2))));
  CHECK(rates[19] == Approx(0.01 + 0.04 * (1 - std::sqrt(0.8))));
  CHECK(run.epochs().size() == 3);
}

TEST_CASE("a stable wsd run resumes and decays at its new end") {
  const Experiment experiment{by_steps};
  const auto whole = experiment.completed("whole");
  experiment.completed("parts", {"train.max_steps=12", "train.schedule.decay=0"});
  const auto parts = experiment.completed("parts");
  CHECK(parts.column<double>("lr") == whole.column<double>("lr"));
  CHECK(parts.digest() == whole.digest());
}

TEST_CASE("a schedule that does not fit into max_steps is refused before training") {
  const Experiment experiment{by_steps};
  const auto refused = experiment.train("run", {"train.schedule.warmup=16 steps"});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("train.schedule.decay: 16 steps of warm-up and 5 of "
                                            "decay are more than the run's 20 steps"));
}
