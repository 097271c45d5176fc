#include "core/threads.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;

TEST_CASE("threads that can be started are ended again") {
  CHECK(expect_threads(0));
  CHECK(expect_threads(20));
}
