#include "tests/actors/worker_fixture.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace troupe;
using namespace troupe::actors;
using Catch::Matchers::ContainsSubstring;
using test::workers_job;
using test::Workplace;

namespace {

std::vector<UnitId> units_of(const std::vector<std::pair<Pass, UnitId>>& gradients) {
  std::vector<UnitId> all;
  for (const auto& [pass, unit] : gradients)
    all.push_back(unit);
  return all;
}

} // namespace

TEST_CASE("a worker requests each bucket, forward then backward, and computes when it gets it") {
  Workplace place{workers_job(2)};
  const auto& buckets = place.buckets();
  REQUIRE(buckets.size() > 2);
  CHECK(place.told.begins == std::vector<Pass>{0});
  place.tell(atom::advance_v, std::int64_t{1});
  CHECK(place.told.needs.empty()); // no batch has arrived
  place.give_batch(PassMode::training, 0);

  REQUIRE(place.told.needs.size() == 2 * buckets.size());
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const auto& forward = place.told.needs[i];
    const auto& backward = place.told.needs[buckets.size() + i];
    CHECK(forward.phase == Phase::forward);
    CHECK(forward.unit == buckets[buckets.size() - 1 - i].units.first);
    CHECK(backward.phase == Phase::backward);
    CHECK(backward.unit == buckets[i].units.last);
  }
  place.answer(buckets.size()); // all buckets of forward
  CHECK(place.told.gradients.empty());
  place.answer(1);
  std::vector<UnitId> expected;
  for (auto unit = buckets[0].units.last; unit >= buckets[0].units.first; --unit)
    expected.push_back(unit);
  CHECK(units_of(place.told.gradients) == expected);
  place.answer_all();
  expected.clear();
  for (auto unit = buckets.front().units.last; unit >= 0; --unit)
    expected.push_back(unit);
  CHECK(units_of(place.told.gradients) == expected);
}

TEST_CASE("when a pass is complete on the device, a worker frees its batch and reports") {
  Workplace place{workers_job(2)};
  place.tell(atom::advance_v, std::int64_t{1});
  place.give_batch(PassMode::training, 0);
  place.answer_all();
  CHECK(place.told.credits.empty()); // the device has not begun
  CHECK(place.told.steps.empty());
  place.compute_all();
  CHECK(place.told.credits == std::vector<std::int32_t>{0});
  REQUIRE(place.told.steps.size() == 1);
  CHECK(place.told.steps[0].step == 0);
  CHECK(place.told.steps[0].samples == 8); // half of the global batch
  CHECK(std::isfinite(place.told.steps[0].loss));
  CHECK(place.told.steps[0].right.correct <= 8);
  CHECK(place.told.steps[0].busy.count() > 0);
  CHECK(place.told.steps[0].end >= place.told.steps[0].begin + place.told.steps[0].busy);
}

TEST_CASE("a worker reports the peak that its device measured between passes") {
  std::vector<std::function<void(double)>> measuring;
  Workplace place{workers_job(2), {.measure_peak = [&](std::function<void(double)> then) {
                    measuring.push_back(std::move(then));
                  }}};
  place.tell(atom::measure_v);
  REQUIRE(measuring.size() == 1);
  CHECK(place.told.peaks.empty());
  measuring.front()(5e9);
  place.scheduler.run();
  CHECK(place.told.peaks == std::vector{std::pair{0, 5e9}});
  measuring.clear(); // the callbacks own the coordinator, which could not end otherwise
}

TEST_CASE("a worker enqueues the next pass before the previous one is complete, up to the limit") {
  Workplace place{workers_job(2)};
  const auto asks = 2 * place.buckets().size();
  place.tell(atom::advance_v, std::int64_t{2});
  for (std::size_t pass = 0; pass < 3; ++pass)
    place.give_batch(PassMode::training, pass);
  CHECK(place.told.needs.size() == asks); // one pass is enqueued at a time
  place.answer(asks);
  CHECK(place.told.needs.size() == 2 * asks);
  CHECK(place.told.credits.empty());
  place.answer(asks);
  place.compute_all();
  CHECK(place.told.credits == std::vector<std::int32_t>{0, 1});
  REQUIRE(place.told.steps.size() == 2);
  CHECK(place.told.steps[0].ready_batches ==
        2); // the second batch, which is enqueued, and the third
  CHECK(place.told.steps[1].ready_batches == 1);
  CHECK(place.told.needs.size() ==
        2 * asks); // the third batch has arrived, but its step is not granted
  place.tell(atom::advance_v, std::int64_t{3});
  CHECK(place.told.needs.size() == 3 * asks);
  CHECK(place.told.needs.back().index == 2);
}

TEST_CASE("a step of several micro-batches is reported once, with the mean loss") {
  auto job = workers_job(1);
  job.train.accumulate = 2;
  Workplace both{job};
  both.tell(atom::advance_v, std::int64_t{1});
  both.pass(0);
  CHECK(both.told.steps.empty());
  both.pass(1);
  REQUIRE(both.told.steps.size() == 1);
  CHECK(both.told.steps[0].samples == 16);

  // The same samples as two steps; no rank runs an optimizer.
  job.train.accumulate = 1;
  job.data.batch_size = 8;
  Workplace each{job};
  each.tell(atom::advance_v, std::int64_t{2});
  each.pass(0);
  each.pass(1);
  REQUIRE(each.told.steps.size() == 2);
  CHECK(each.told.steps[0].loss != each.told.steps[1].loss);
  CHECK(both.told.steps[0].loss ==
        Catch::Approx((each.told.steps[0].loss + each.told.steps[1].loss) / 2).epsilon(1e-6));
  CHECK(both.told.steps[0].right.correct ==
        *each.told.steps[0].right.correct + *each.told.steps[1].right.correct);
}

TEST_CASE("in an empty pass a worker sends requests and reports but computes nothing") {
  auto job = workers_job(2);
  job.data.slices = 3; // the second rank has two of them
  job.data.batch_size = 12;
  Workplace place{job};
  const auto asks = 2 * place.buckets().size();
  place.tell(atom::advance_v, std::int64_t{1}); // without a batch
  CHECK(place.told.needs.size() == asks);
  place.answer_all();
  CHECK(place.told.gradients.size() == place.rank_state().train().layout().unit_elements.size());
  place.compute_all();
  CHECK(place.told.credits.empty());
  CHECK(place.told.steps.empty());
  place.give_batch(PassMode::training, 0);
  CHECK(place.told.needs.size() == 2 * asks);
  CHECK(place.told.needs.back().index == 1);
  place.answer_all();
  place.compute_all();
  CHECK(place.told.credits == std::vector<std::int32_t>{0});
  REQUIRE(place.told.steps.size() == 1);
  CHECK(place.told.steps[0].samples == 4);
  CHECK(std::isfinite(place.told.steps[0].loss));
}

TEST_CASE("a single rank sends requests for one direction only and enqueues the pass at once") {
  Workplace place{workers_job(1)};
  place.tell(atom::advance_v, std::int64_t{1});
  place.give_batch(PassMode::training, 0);
  CHECK(place.told.needs.size() == place.buckets().size());
  place.answer(place.buckets().size() - 1);
  CHECK(place.told.gradients.empty());
  place.answer(1);
  CHECK(place.told.gradients.size() == place.rank_state().train().layout().unit_elements.size());
}

TEST_CASE("with sharded parameters, a worker releases each bucket after forward has read it") {
  auto job = workers_job(2);
  job.parallel.strategy = StrategyKind::zero3;
  Workplace place{job};
  place.tell(atom::advance_v, std::int64_t{1});
  place.give_batch(PassMode::training, 0);
  place.answer(1);
  REQUIRE(place.told.released.size() == 1);
  CHECK(place.told.released[0].unit == place.buckets().back().units.last);
  place.answer(place.buckets().size() - 1);
  CHECK(place.told.released.size() == place.buckets().size());
}

TEST_CASE("an asynchronous worker releases no bucket, because it keeps a copy of all parameters") {
  auto job = workers_job(2);
  job.parallel.strategy = StrategyKind::async;
  Workplace place{job};
  REQUIRE(place.rank_state().state->layout().strategy().divides_parameters);
  place.tell(atom::evaluate_v, std::int64_t{0}, EventPtr{});
  place.give_batch(PassMode::evaluation, 0);
  CHECK(place.told.needs.size() == place.buckets().size());
  place.answer_all();
  CHECK(place.told.released.empty());
}

TEST_CASE("a worker classifies the test set once and does not count padding") {
  const auto ranks = GENERATE(1, 2);
  Workplace place{workers_job(ranks)};
  const std::size_t batches = ranks == 1 ? 2 : 1; // 16 samples, 12 per rank at a time
  place.tell(atom::evaluate_v, std::int64_t{4}, EventPtr{});
  CHECK(place.told.evaluations == 1);
  for (std::size_t i = 0; i < batches; ++i)
    place.give_batch(PassMode::evaluation, i);
  place.answer_all();
  CHECK(place.told.evaluated.empty());
  place.compute_all();
  REQUIRE(place.told.evaluated.size() == 1);
  const auto& report = place.told.evaluated[0];
  CHECK(report.rank == 0);
  CHECK(report.step == 4);
  CHECK(report.right.rows == (ranks == 1 ? 16 : 12));
  CHECK(report.right.correct <= report.right.rows);
  // An untrained model guesses among ten classes.
  CHECK(report.loss_sum / static_cast<double>(report.right.rows) ==
        Catch::Approx(std::log(10)).epsilon(0.5));
  CHECK(place.told.credits.size() == batches);
  CHECK(place.told.gradients.empty());
}

TEST_CASE("a loss that is not finite ends the run, unless there is a loss scale") {
  const bool scales_loss = GENERATE(false, true);
  WorkerSetup setup;
  setup.scales_loss = scales_loss;
  setup.precision = Precision::bf16;
  Workplace place{workers_job(1), std::move(setup)};
  std::fill_n(place.rank_state().state->buffers().parameters(0), 16,
              std::numeric_limits<float>::quiet_NaN());
  place.tell(atom::advance_v, std::int64_t{1});
  place.pass(0);
  CHECK(place.told.steps.size() == (scales_loss ? 1u : 0u));
  REQUIRE(place.told.errors.size() == (scales_loss ? 0u : 1u));
  if (scales_loss)
    return;
  CHECK(place.told.failed_losses.size() == 1);
  CHECK_THAT(place.told.errors[0].to_string(),
             ContainsSubstring("numeric: the loss is nan in pure bf16") &&
                 ContainsSubstring("(rank 0, step 1, actor worker)"));
}

TEST_CASE("a failing device is reported with rank, step and actor, and its batch is not freed") {
  Workplace place{workers_job(1)};
  place.tell(atom::advance_v, std::int64_t{3});
  place.pass(0);
  place.compute.break_down({Errc::device, "it is on fire"});
  place.pass(1);
  REQUIRE(place.told.errors.size() == 1);
  CHECK(place.told.errors[0].code == Errc::device);
  CHECK_THAT(place.told.errors[0].to_string(), ContainsSubstring("it is on fire (rank 0, step"));
  CHECK(place.told.errors[0].where.actor == "worker");
  CHECK(place.told.credits == std::vector<std::int32_t>{0});
  CHECK(place.told.steps.size() == 1);
}
