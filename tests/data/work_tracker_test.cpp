// Tests which slices of which steps are assigned, have arrived and are applied.
#include "data/work_tracker.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe::data;

TEST_CASE("slices of a step are assigned in order, and steps are applied in order") {
  WorkTracker tracker{2, 10};
  tracker.grant(12);
  CHECK(tracker.limit() == 12);
  CHECK(tracker.assign(11) == WorkItem{11, 0});
  CHECK(tracker.left(10) == 2);
  CHECK(tracker.left(11) == 1);
  for (const auto& expected : {WorkItem{10, 0}, WorkItem{10, 1}, WorkItem{11, 1}})
    CHECK(tracker.assign(expected.step) == expected);
  CHECK(tracker.left(10) == 0);
  CHECK(tracker.left(11) == 0);
  CHECK_FALSE(tracker.complete({10, 1}));
  CHECK_FALSE(tracker.complete({11, 1}));
  CHECK(tracker.complete({11, 0})); // the later step is complete, and waits
  CHECK_FALSE(tracker.is_complete());
  CHECK(tracker.complete({10, 0}));
  CHECK(tracker.is_complete());
  tracker.apply();
  CHECK(tracker.applied() == 11);
  CHECK(tracker.is_complete());
  tracker.apply();
  CHECK_FALSE(tracker.is_complete());
  CHECK(tracker.left(12) == 2);
}
