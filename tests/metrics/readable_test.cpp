#include "metrics/readable.hpp"

#include <catch2/catch_test_macros.hpp>

#include <limits>

using namespace troupe::metrics;

TEST_CASE("small numbers have an exponent without zeros") {
  CHECK(readable_number(3.605e-6) == "3.6e-6");
  CHECK(readable_number(1e-5) == "1e-5");
  CHECK(readable_number(-2.5e-12) == "-2.5e-12");
  CHECK(readable_number(0) == "0");
  CHECK(readable_number(1e-4) == "0.0001");
  CHECK(readable_loss(1.2345e-5) == "1.23e-5");
  CHECK(readable_loss(2e-5) == "2e-5");
}

TEST_CASE("steps are told with the epochs that they are, not rounded up") {
  CHECK(readable_steps(60, 390) == "60 steps (0.15 epochs)");
  CHECK(readable_steps(780, 390) == "780 steps (2 epochs)");
  CHECK(readable_steps(390, 390) == "390 steps (1 epoch)");
  CHECK(readable_steps(389, 390) == "389 steps (0.99 epochs)");
  CHECK(readable_steps(1, 390) == "1 step (0.003 epochs)");
  CHECK(readable_steps(39, 390) == "39 steps (0.1 epochs)");
  CHECK(readable_steps(12'345'000, 1000) == "12,345,000 steps (12,345 epochs)");
  CHECK(readable_steps(0, 390) == "0 steps (0 epochs)");
  CHECK(readable_steps(7, 0) == "7 steps");
}

TEST_CASE("operations a second have a unit") {
  CHECK(readable_operations(118.4e9) == "118 GFLOP/s");
  CHECK(readable_operations(1.5e8) == "0.15 GFLOP/s");
  CHECK(readable_operations(1.236e12) == "1.24 TFLOP/s");
}

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
