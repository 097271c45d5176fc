// Who is dealt what, how much that keeps workers of unequal speed busy, and how stale what they
// compute is: in a time of its own.
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
  std::vector<double> speeds; ///< of one: a slice takes one unit of time
  int slices = 1;
  std::int64_t staleness = 0;
  double wait_tolerance = 0;
};

/// What they have computed together, as a part of what they could if nobody ever waited; and how
/// many steps were lacking, in the mean.
struct Outcome {
  double busy = 0, lacking = 0;
};

/// Each worker asks for the next slice when it has computed the one before. A slice takes it up to
/// a twentieth more or less than its speed says, and a step some time to be made.
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
        come(ends_.extract(ends_.begin()).mapped(), now);
      if (made_ && *made_ <= now)
        make(now);
      deal(now);
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

  void come(const End& end, double now) {
    ++computed_;
    assigner_.come(end.worker, end.item, now);
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

  void deal(double now) {
    std::erase_if(free_, [&](int worker) {
      const auto item = assigner_.deal(worker, now);
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
  std::optional<double> made_; ///< when the first step will be that is not
  std::set<std::pair<std::int64_t, int>> assigned_;
  double computed_ = 0, lacking_ = 0;
};

Outcome work(const Setting& setting) {
  return Workers{setting}.work(2000);
}

const std::vector<double> alike = {1, 1, 1, 1}, one_slow = {1, 1, 1, 0.25};

} // namespace

TEST_CASE("slices are dealt no further ahead than is granted") {
  SliceAssigner assigner{{.slices = 2, .workers = 1, .first_step = 10}};
  CHECK_FALSE(assigner.deal(0, 0)); // nothing is granted
  assigner.grant(12);
  for (const auto& expected : {WorkItem{10, 0}, WorkItem{10, 1}, WorkItem{11, 0}, WorkItem{11, 1}})
    CHECK(assigner.deal(0, 0) == expected);
  CHECK_FALSE(assigner.deal(0, 0));
}

TEST_CASE("a worker of a quarter of the others' speed holds nobody up, with a staleness of 3") {
  CHECK(work({one_slow, 4, 0}).busy < 0.35); // all at its pace
  CHECK(work({one_slow, 4, 3}).busy > 0.98);
  CHECK(work({one_slow, 16, 1}).busy > 0.98); // smaller slices are worth as much
}

TEST_CASE("who is slow computes the stale slices, and not the others for him") {
  const auto found = work({one_slow, 16, 3});
  CHECK(found.lacking < 0.3); // dealt in order: about half a step
  CHECK(found.busy > 0.99);
}

TEST_CASE("with some patience, workers that are alike compute nothing stale, and lose little") {
  const auto impatient = work({alike, 8, 3}), patient = work({alike, 8, 3, 0.3});
  CHECK(impatient.busy > 0.99);
  CHECK(impatient.lacking > 0.4);
  CHECK(patient.busy > 0.93);
  CHECK(patient.lacking < 0.1);
  const auto slow = work({one_slow, 16, 3, 0.3});
  CHECK(slow.busy > 0.95);
  CHECK(slow.lacking < 0.2);
}

TEST_CASE("however fast the workers are, each slice is dealt once, within the bound") {
  const int seed = GENERATE(Catch::Generators::range(0, 20));
  Setting setting{{}, 1 + seed % 7, seed % 4, 0.2 * (seed % 3)};
  for (int i = 0; i < 2 + seed % 5; ++i)
    setting.speeds.push_back(0.1 + 0.37 * ((seed * 7 + i * 13) % 11));
  CHECK(work(setting).busy > 0.05);
}

TEST_CASE("who waits is dealt a slice when its patience ends") {
  SliceAssigner assigner{{.slices = 2, .workers = 2, .wait_tolerance = 0.5}};
  assigner.grant(3);
  for (const int worker : {0, 1})
    CHECK(assigner.deal(worker, 0) == WorkItem{0, worker});
  assigner.come(0, {0, 0}, 10);
  CHECK(assigner.deal(0, 10) == WorkItem{1, 0}); // nobody knows how long the other one takes
  assigner.come(1, {0, 1}, 12);
  CHECK_FALSE(assigner.deal(1, 12)); // all slices of step 0 are there: it will soon be made
  CHECK(assigner.again(12) == 18);
  CHECK_FALSE(assigner.deal(1, 17));
  CHECK(assigner.deal(1, 18) == WorkItem{1, 1});
  CHECK_FALSE(assigner.again(18));
}

TEST_CASE("who would end a step later than the others gets a slice of a later one") {
  SliceAssigner assigner{{.slices = 4, .workers = 2, .wait_tolerance = 0.25}};
  assigner.grant(4);
  CHECK(assigner.deal(0, 0) == WorkItem{0, 0});
  CHECK(assigner.deal(1, 0) == WorkItem{0, 1});
  const std::vector<WorkItem> of_the_fast = {{0, 2}, {0, 3}, {1, 0}, {1, 1},
                                             {1, 2}, {1, 3}, {2, 0}};
  WorkItem has{0, 0};
  for (int second = 1; second <= 7; ++second) {
    assigner.come(0, has, second);
    has = of_the_fast[static_cast<std::size_t>(second - 1)];
    CHECK(assigner.deal(0, second) == has);
  }
  assigner.come(0, has, 8);
  assigner.come(1, {0, 1}, 8);
  for (const int step : {0, 1}) {
    CHECK(assigner.applied() == step);
    assigner.apply();
  }
  // Of step 2 three slices are left, which take worker 0 as many seconds, and one takes worker 1
  // eight; with the four of step 3 it is worth while.
  CHECK(assigner.deal(1, 8) == WorkItem{3, 0});
  CHECK(assigner.deal(0, 8) == WorkItem{2, 1});
}
