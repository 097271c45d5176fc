// Tests which slices are assigned to which workers one by one, and simulates how busy workers of
// unequal speed are and how stale their gradients are.
#include "data/work_items.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

using namespace troupe::data;

namespace {

SliceAssignment on_demand(int slices, std::size_t workers) {
  return SliceAssignment::on_demand(slices, static_cast<int>(workers));
}

struct Setting {
  std::vector<double> speeds; ///< a worker of speed 1 computes a slice in one unit of time
  int slices = 1;
  std::int64_t staleness = 0;
  double wait_tolerance = 0;
};

/// Computed slices as a fraction of the slices that workers could compute without waiting, and the
/// mean staleness in steps.
struct Outcome {
  double busy = 0, lacking = 0;
};

/// Each worker asks for the next slice when it has computed the previous one. The time of a slice
/// varies by up to a twentieth around the worker's speed; applying a step takes some time, too.
class Workers {
public:
  explicit Workers(Setting setting)
      : setting_{std::move(setting)}, items_{on_demand(setting_.slices, setting_.speeds.size()), 0,
                                             setting_.wait_tolerance} {
    items_.grant(setting_.staleness + 1);
    for (int worker = 0; worker < std::ssize(setting_.speeds); ++worker)
      items_.want(worker);
  }

  Outcome work(double units) {
    for (double now = 0; now <= units; now = next(now)) {
      while (!ends_.empty() && ends_.begin()->first <= now)
        complete(ends_.extract(ends_.begin()).mapped(), now);
      if (made_ && *made_ <= now)
        make(now);
      assign(now);
    }
    const auto could = units * std::reduce(setting_.speeds.begin(), setting_.speeds.end());
    return {computed_ / could, lacking_ / static_cast<double>(assigned_.size())};
  }

private:
  double next(double now) const {
    auto next = ends_.empty() ? now + 1 : ends_.begin()->first;
    for (const auto& other : {made_, items_.again(now)})
      next = std::min(next, other.value_or(next));
    return next;
  }

  void complete(const WorkItem& item, double now) {
    ++computed_;
    items_.complete(item, now);
    items_.want(item.worker);
    plan_making(now);
  }

  void plan_making(double now) {
    if (items_.is_complete() && !made_)
      made_ = now + 0.02;
  }

  void make(double now) {
    made_.reset();
    items_.apply();
    items_.grant(items_.applied() + setting_.staleness + 1);
    plan_making(now);
  }

  void assign(double now) {
    for (const auto& item : items_.assign(now)) {
      lacking_ += static_cast<double>(item.step - items_.applied());
      CHECK(item.step - items_.applied() <= setting_.staleness);
      CHECK(assigned_.emplace(item.step, item.slice).second);
      const auto more = static_cast<double>((assigned_.size() * 7) % 11) / 10 - 0.5;
      const auto takes = 1 / setting_.speeds[static_cast<std::size_t>(item.worker)];
      ends_.emplace(now + takes * (1 + more / 10), item);
    }
  }

  Setting setting_;
  WorkItems items_;
  std::multimap<double, WorkItem> ends_;
  std::optional<double> made_; ///< when the next pending step will be applied
  std::set<std::pair<std::int64_t, int>> assigned_;
  double computed_ = 0, lacking_ = 0;
};

Outcome work(const Setting& setting) {
  return Workers{setting}.work(2000);
}

/// Assigns to one worker that is free now.
std::optional<WorkItem> assign(WorkItems& items, int worker, double now) {
  items.want(worker);
  const auto assigned = items.assign(now);
  CHECK(assigned.size() <= 1);
  return assigned.empty() ? std::nullopt : std::optional{assigned.front()};
}

const std::vector<double> alike = {1, 1, 1, 1}, one_slow = {1, 1, 1, 0.25};

} // namespace

TEST_CASE("slices are assigned to waiting workers in order of arrival, up to the granted step") {
  WorkItems items{on_demand(2, 3), 5};
  for (const int worker : {2, 0, 1, 2})
    items.want(worker);
  CHECK(items.assign(0).empty()); // no step is granted
  items.grant(6);
  CHECK(items.assign(0) == std::vector<WorkItem>{{5, 0, 2}, {5, 1, 0}});
  CHECK(items.begun() == 6);
  CHECK(items.assign(0).empty());
  items.grant(7);
  CHECK(items.assign(0) == std::vector<WorkItem>{{6, 0, 1}, {6, 1, 2}});
  CHECK(items.begun() == 7);
}

TEST_CASE("a worker has a slice from its assignment until it is computed") {
  WorkItems items{on_demand(2, 2), 3};
  items.grant(4);
  REQUIRE(assign(items, 1, 0) == WorkItem{3, 0, 1});
  CHECK(items.has({3, 0, 1}));
  for (const auto& item :
       {WorkItem{3, 1, 1}, WorkItem{4, 0, 1}, WorkItem{2, 0, 1}, WorkItem{-1, -1, 1},
        WorkItem{3, 0, -1}, WorkItem{3, 0, 0}, WorkItem{3, 0, 2}, WorkItem{3, 0, 1'000'000}})
    CHECK_FALSE(items.has(item));
  items.complete({3, 0, 1}, 1);
  CHECK_FALSE(items.has({3, 0, 1}));
}

TEST_CASE("steps are complete in order, with the longest time of one of their slices") {
  WorkItems items{on_demand(2, 2), 0};
  items.grant(2);
  for (int i = 0; i < 4; ++i)
    items.want(i / 2);
  REQUIRE(items.assign(0).size() == 4);
  items.complete({1, 1, 1}, 1);
  items.complete({1, 0, 1}, 3); // the later step is complete, and waits
  items.complete({0, 0, 0}, 2);
  CHECK_FALSE(items.is_complete());
  items.complete({0, 1, 0}, 1);
  for (const int step : {0, 1}) {
    CHECK(items.applied() == step);
    REQUIRE(items.is_complete());
    items.apply();
  }
  CHECK_FALSE(items.is_complete());
  CHECK(items.take_longest(0) == 2);
  CHECK(items.take_longest(1) == 3);
}

TEST_CASE("with a staleness of 3 a worker of a quarter of the speed does not delay the others") {
  CHECK(work({one_slow, 4, 0}).busy < 0.35); // all workers run at its speed
  CHECK(work({one_slow, 4, 3}).busy > 0.98);
  CHECK(work({one_slow, 16, 1}).busy > 0.98); // smaller slices have the same effect
}

TEST_CASE("a slow worker computes its stale slices itself instead of passing them on") {
  const auto found = work({one_slow, 16, 3});
  CHECK(found.lacking < 0.3); // in-order assignment would give about 0.5
  CHECK(found.busy > 0.99);
}

TEST_CASE("with some wait tolerance, equal workers compute nothing stale and lose little time") {
  const auto impatient = work({alike, 8, 3}), patient = work({alike, 8, 3, 0.3});
  CHECK(impatient.busy > 0.99);
  CHECK(impatient.lacking > 0.4);
  CHECK(patient.busy > 0.93);
  CHECK(patient.lacking < 0.1);
  const auto slow = work({one_slow, 16, 3, 0.3});
  CHECK(slow.busy > 0.95);
  CHECK(slow.lacking < 0.2);
}

TEST_CASE("for any speeds each slice is assigned once and within the staleness bound") {
  const int seed = GENERATE(Catch::Generators::range(0, 20));
  Setting setting{{}, 1 + seed % 7, seed % 4, 0.2 * (seed % 3)};
  for (int i = 0; i < 2 + seed % 5; ++i)
    setting.speeds.push_back(0.1 + 0.37 * ((seed * 7 + i * 13) % 11));
  CHECK(work(setting).busy > 0.05);
}

TEST_CASE(
    "a waiting worker is assigned a slice when its wait tolerance ends or the step is applied") {
  const bool is_applied = GENERATE(true, false);
  WorkItems items{on_demand(2, 2), 0, 0.5};
  items.grant(3);
  for (const int worker : {0, 1})
    CHECK(assign(items, worker, 0) == WorkItem{0, worker, worker});
  items.complete({0, 0, 0}, 10);
  CHECK(assign(items, 0, 10) == WorkItem{1, 0, 0}); // the speed of the other worker is unknown
  CHECK_FALSE(items.again(10));
  items.complete({0, 1, 1}, 12);
  CHECK_FALSE(assign(items, 1, 12)); // all slices of step 0 have arrived: it will soon be applied
  CHECK(items.again(12) == 18);
  if (is_applied) {
    items.apply();
    CHECK(items.assign(13) == std::vector<WorkItem>{{1, 1, 1}});
  } else {
    CHECK(items.assign(17).empty());
    CHECK(items.assign(18) == std::vector<WorkItem>{{1, 1, 1}});
  }
  CHECK_FALSE(items.again(18));
}

TEST_CASE("a worker that would finish a step later than the others gets a slice of a later step") {
  WorkItems items{on_demand(4, 2), 0, 0.25};
  items.grant(4);
  CHECK(assign(items, 0, 0) == WorkItem{0, 0, 0});
  CHECK(assign(items, 1, 0) == WorkItem{0, 1, 1});
  const std::vector<WorkItem> of_the_fast = {{0, 2}, {0, 3}, {1, 0}, {1, 1},
                                             {1, 2}, {1, 3}, {2, 0}};
  WorkItem has{0, 0};
  for (int second = 1; second <= 7; ++second) {
    items.complete(has, second);
    has = of_the_fast[static_cast<std::size_t>(second - 1)];
    CHECK(assign(items, 0, second) == has);
  }
  items.complete(has, 8);
  items.complete({0, 1, 1}, 8);
  for (const int step : {0, 1}) {
    CHECK(items.applied() == step);
    items.apply();
  }
  // Step 2 has three slices left: worker 0 needs three seconds for them, and worker 1 eight seconds
  // for one. Step 3 with its four slices is far enough ahead for worker 1.
  CHECK(assign(items, 1, 8) == WorkItem{3, 0, 1});
  CHECK(assign(items, 0, 8) == WorkItem{2, 1, 0});
}
