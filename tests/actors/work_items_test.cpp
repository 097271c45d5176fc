// Tests which rank holds which slice, and steps whose slices were assigned to several ranks.
#include "actors/roles/detail/work_items.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <limits>

using namespace troupe::actors;
using namespace std::chrono_literals;
using troupe::data::WorkItem;
using Clock = WorkItems::Clock;

namespace {

const Clock::time_point begin{};

WorkerStep measured(double loss, std::int64_t samples) {
  return {.loss = loss, .samples = samples, .busy = 10ms};
}

} // namespace

TEST_CASE("slices are assigned to waiting workers in order of arrival, up to the granted step") {
  WorkItems items{{.slices = 2, .workers = 3, .first_step = 5}};
  CHECK(items.assign(6, begin).empty());
  for (const int rank : {2, 0, 1, 2})
    items.want(rank);
  const auto assigned = items.assign(6, begin);
  REQUIRE(assigned.size() == 2);
  CHECK((assigned[0].rank == 2 && assigned[0].item == WorkItem{5, 0}));
  CHECK((assigned[1].rank == 0 && assigned[1].item == WorkItem{5, 1}));
  CHECK(items.begun() == 6);
  CHECK(items.assign(6, begin).empty());
  CHECK(items.assign(7, begin).size() == 2);
  CHECK(items.begun() == 7);
}

TEST_CASE("a step is applied once, after all its slices have arrived and all ranks have agreed") {
  WorkItems items{{.slices = 2, .workers = 2}};
  for (int i = 0; i < 4; ++i)
    items.want(i / 2);
  items.assign(2, begin);
  for (const std::int64_t step : {0, 1}) {
    items.vote(step);
    items.vote(step);
  }
  items.complete(1, {1, 0}, measured(1, 4), begin + 3s);
  items.complete(1, {1, 1}, measured(2, 4), begin + 1s);
  items.complete(0, {0, 0}, measured(3, 4), begin + 2s);
  CHECK_FALSE(items.next_applied()); // a rank still holds a slice of step 0
  items.complete(0, {0, 1}, measured(4, 3), begin + 1s);
  CHECK(items.next_applied() == 0);
  CHECK(items.next_applied() == 1);
  CHECK_FALSE(items.next_applied());
  const auto both = items.measured(0, 0);
  CHECK((both.loss == 7 && both.samples == 7 && both.busy == 20ms && both.step == 0));
  CHECK(items.measured(1, 0).samples == 0);
  CHECK(items.longest_item(0) == 2);
  CHECK(items.longest_item(1) == 3);
}

TEST_CASE("a worker that waits for a version gets a slice when it is there or the tolerance ends") {
  const auto is_made = GENERATE(true, false);
  WorkItems items{{.slices = 2, .workers = 2, .wait_tolerance = 0.5}};
  const auto assign = [&](int rank, Clock::time_point now) {
    items.want(rank);
    return items.assign(3, now);
  };
  for (const int rank : {0, 1})
    REQUIRE(assign(rank, begin).size() == 1);
  items.complete(0, {0, 0}, measured(1, 4), begin + 10s);
  CHECK(assign(0, begin + 10s).size() == 1); // the speed of rank 1 is unknown
  CHECK_FALSE(items.again(begin + 10s));
  items.complete(1, {0, 1}, measured(1, 4), begin + 12s);
  CHECK(assign(1, begin + 12s).empty()); // step 0 has all slices that it needs
  CHECK(items.again(begin + 12s) == begin + 18s);
  if (is_made) {
    for (const int vote : {0, 1}) {
      items.vote(0);
      CHECK(items.next_applied().has_value() == (vote == 1));
    }
    CHECK(items.assign(3, begin + 13s).size() == 1);
  } else {
    CHECK(items.assign(3, begin + 17s).empty());
    CHECK(items.assign(3, begin + 18s).size() == 1);
  }
  CHECK_FALSE(items.again(begin + 18s));
}

TEST_CASE("results of a step are combined once all ranks have sent theirs") {
  WorkItems items{{.slices = 1, .workers = 3}};
  CHECK_FALSE(items.found({.rank = 1, .step = 0, .squared_norm = 2}));
  CHECK_FALSE(items.found({.rank = 0, .step = 0, .squared_norm = 1, .found_inf = 1}));
  const auto all = items.found({.rank = 2, .step = 0, .squared_norm = 4});
  REQUIRE(all);
  CHECK((all->step == 0 && all->squared_norm == 7 && all->found_inf == 1));
  for (const int rank : {0, 1})
    CHECK_FALSE(items.found({.rank = rank, .step = 1}));
  CHECK(items.found({.rank = 2, .step = 1})->squared_norm < 0); // not measured
}

TEST_CASE("a worker holds a slice from its assignment until its gradients arrive") {
  WorkItems items{{.slices = 2, .workers = 2, .first_step = 3}};
  items.want(1);
  items.assign(4, begin);
  CHECK(items.has(1, {3, 0}));
  for (const auto& item : {WorkItem{3, 1}, WorkItem{4, 0}, WorkItem{2, 0}, WorkItem{-1, -1}})
    CHECK_FALSE(items.has(1, item));
  for (const int rank : {-1, 0, 2, 1'000'000})
    CHECK_FALSE(items.has(rank, {3, 0}));
  items.complete(1, {3, 0}, measured(1, 4), begin + 1s);
  CHECK_FALSE(items.has(1, {3, 0}));
}
