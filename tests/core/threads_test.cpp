#include "core/threads.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;

TEST_CASE("the check that threads can be started ends them again") {
  CHECK(expect_threads(0));
  CHECK(expect_threads(20));
}
