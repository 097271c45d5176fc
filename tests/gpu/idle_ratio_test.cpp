#include "bench/gpu/kernel_trace.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace troupe::bench;

TEST_CASE("the idle ratio is the share of time that no span covers") {
  CHECK(idle_ratio({}) == 0);
  CHECK(idle_ratio({{"a", 10, 20}}) == 0);
  CHECK(idle_ratio({{"a", 0, 40}, {"b", 60, 100}}) == Catch::Approx(0.2));
  // Spans may come in any order. Overlapping time counts once; a span may lie within another.
  CHECK(idle_ratio({{"c", 90, 100}, {"a", 0, 50}, {"b", 30, 60}, {"d", 35, 40}}) ==
        Catch::Approx(0.3));
}
