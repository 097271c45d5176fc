#include "troupe/metrics/readable.hpp"

#include <catch2/catch_test_macros.hpp>

#include <limits>

using namespace troupe::metrics;

TEST_CASE("numbers are written as people read them") {
  CHECK(readable_count(1234567) == "1,234,567");
  CHECK(readable_count(-1000) == "-1,000");
  CHECK(readable_count(999) == "999");
  CHECK(readable_loss(1.23456) == "1.2346");
  CHECK(readable_loss(0.00012345) == "0.000123");
  CHECK(readable_loss(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(readable_rate(12.34) == "12.3");
  CHECK(readable_rate(12480.4) == "12,480");
  CHECK(readable_bytes(512) == "512 B");
  CHECK(readable_bytes(1536.0 * 1024 * 1024) == "1.5 GiB");
  CHECK(readable_seconds(0.0123) == "12.3 ms");
  CHECK(readable_seconds(0.9994) == "999 ms");
  CHECK(readable_seconds(0.9996) == "1 s");
  CHECK(readable_number(9999) == "9999");
  CHECK(readable_number(9999.7) == "10k");
  CHECK(readable_seconds(750) == "12 min 30 s");
  CHECK(readable_seconds(3900) == "1 h 05 min");
  CHECK(readable_clock(45) == "0:45");
  CHECK(readable_clock(3723) == "1:02:03");
  CHECK(readable_clock(std::numeric_limits<double>::quiet_NaN()) == "-:--");
}
