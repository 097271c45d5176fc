// Simulates slice assignment: which slices workers get, how busy workers of unequal speed are, and
// how stale their gradients are.
#include "data/slice_assigner.hpp"

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
      : setting_{std::move(setting)}, assigner_{
                                          {.slices = setting_.slices,
                                           .workers = static_cast<int>(setting_.speeds.size()),
                                           .wait_tolerance = setting_.wait_tolerance}} {
    assigner_.grant(setting_.staleness + 1);
    for (int worker = 0; worker < std::ssize(setting_.speeds); ++worker)
      free_.push_back(worker);
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
  struct End {
    int worker;
    WorkItem item;
  };

  double next(double now) const {
    auto next = ends_.empty() ? now + 1 : ends_.begin()->first;
    for (const auto& other : {made_, assigner_.again(now)})
      next = std::min(next, other.value_or(next));
    return next;
  }

  void complete(const End& end, double now) {
    ++computed_;
    assigner_.complete(end.worker, end.item, now);
    free_.push_back(end.worker);
    plan_making(now);
  }

  void plan_making(double now) {
    if (assigner_.is_complete() && !made_)
      made_ = now + 0.02;
  }

  void make(double now) {
    made_.reset();
    assigner_.apply();
    assigner_.grant(assigner_.applied() + setting_.staleness + 1);
    plan_making(now);
  }

  void assign(double now) {
    std::erase_if(free_, [&](int worker) {
      const auto item = assigner_.assign(worker, now);
      if (!item)
        return false;
      lacking_ += static_cast<double>(item->step - assigner_.applied());
      CHECK(item->step - assigner_.applied() <= setting_.staleness);
      CHECK(assigned_.emplace(item->step, item->slice).second);
      const auto more = static_cast<double>((assigned_.size() * 7) % 11) / 10 - 0.5;
      const auto takes = 1 / setting_.speeds[static_cast<std::size_t>(worker)];
      ends_.emplace(now + takes * (1 + more / 10), End{worker, *item});
      return true;
    });
  }

  Setting setting_;
  SliceAssigner assigner_;
  std::vector<int> free_;
  std::multimap<double, End> ends_;
  std::optional<double> made_; ///< when the next pending step will be applied
  std::set<std::pair<std::int64_t, int>> assigned_;
  double computed_ = 0, lacking_ = 0;
};

Outcome work(const Setting& setting) {
  return Workers{setting}.work(2000);
}

const std::vector<double> alike = {1, 1, 1, 1}, one_slow = {1, 1, 1, 0.25};

} // namespace

TEST_CASE("slices are assigned up to the last granted step") {
  SliceAssigner assigner{{.slices = 2, .workers = 1, .first_step = 10}};
  CHECK_FALSE(assigner.assign(0, 0)); // no step is granted
  assigner.grant(12);
  for (const auto& expected : {WorkItem{10, 0}, WorkItem{10, 1}, WorkItem{11, 0}, WorkItem{11, 1}})
    CHECK(assigner.assign(0, 0) == expected);
  CHECK_FALSE(assigner.assign(0, 0));
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

TEST_CASE("a waiting worker is assigned a slice when its wait tolerance ends") {
  SliceAssigner assigner{{.slices = 2, .workers = 2, .wait_tolerance = 0.5}};
  assigner.grant(3);
  for (const int worker : {0, 1})
    CHECK(assigner.assign(worker, 0) == WorkItem{0, worker});
  assigner.complete(0, {0, 0}, 10);
  CHECK(assigner.assign(0, 10) == WorkItem{1, 0}); // the speed of the other worker is unknown
  assigner.complete(1, {0, 1}, 12);
  CHECK_FALSE(assigner.assign(1, 12)); // all slices of step 0 have arrived: it will soon be applied
  CHECK(assigner.again(12) == 18);
  CHECK_FALSE(assigner.assign(1, 17));
  CHECK(assigner.assign(1, 18) == WorkItem{1, 1});
  CHECK_FALSE(assigner.again(18));
}

TEST_CASE("a worker that would finish a step later than the others gets a slice of a later step") {
  SliceAssigner assigner{{.slices = 4, .workers = 2, .wait_tolerance = 0.25}};
  assigner.grant(4);
  CHECK(assigner.assign(0, 0) == WorkItem{0, 0});
  CHECK(assigner.assign(1, 0) == WorkItem{0, 1});
  const std::vector<WorkItem> of_the_fast = {{0, 2}, {0, 3}, {1, 0}, {1, 1},
                                             {1, 2}, {1, 3}, {2, 0}};
  WorkItem has{0, 0};
  for (int second = 1; second <= 7; ++second) {
    assigner.complete(0, has, second);
    has = of_the_fast[static_cast<std::size_t>(second - 1)];
    CHECK(assigner.assign(0, second) == has);
  }
  assigner.complete(0, has, 8);
  assigner.complete(1, {0, 1}, 8);
  for (const int step : {0, 1}) {
    CHECK(assigner.applied() == step);
    assigner.apply();
  }
  // Step 2 has three slices left: worker 0 needs three seconds for them, and worker 1 eight seconds
  // for one. Step 3 with its four slices is far enough ahead for worker 1.
  CHECK(assigner.assign(1, 8) == WorkItem{3, 0});
  CHECK(assigner.assign(0, 8) == WorkItem{2, 1});
}
