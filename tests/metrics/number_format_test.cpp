#include "metrics/number_format.hpp"

#include <catch2/catch_test_macros.hpp>

#include <limits>

using namespace troupe::metrics;

TEST_CASE("small numbers have an exponent without leading zeros") {
  CHECK(format_loss(3.605e-6) == "3.6e-6");
  CHECK(format_loss(1e-5) == "1e-5");
  CHECK(format_loss(-2.5e-12) == "-2.5e-12");
  CHECK(format_loss(0) == "0.0000");
  CHECK(format_loss(1e-4) == "0.0001");
  CHECK(format_loss(1.2345e-5) == "1.23e-5");
  CHECK(format_loss(2e-5) == "2e-5");
}

TEST_CASE("steps are shown with their number of epochs, rounded down") {
  CHECK(format_steps(60, 390) == "60 steps (0.15 epochs)");
  CHECK(format_steps(780, 390) == "780 steps (2 epochs)");
  CHECK(format_steps(390, 390) == "390 steps (1 epoch)");
  CHECK(format_steps(389, 390) == "389 steps (0.99 epochs)");
  CHECK(format_steps(1, 390) == "1 step (0.003 epochs)");
  CHECK(format_steps(39, 390) == "39 steps (0.1 epochs)");
  CHECK(format_steps(12'345'000, 1000) == "12,345,000 steps (12,345 epochs)");
  CHECK(format_steps(0, 390) == "0 steps (0 epochs)");
  CHECK(format_steps(7, 0) == "7 steps");
}

TEST_CASE("operations per second have a unit") {
  CHECK(format_operations(118.4e9) == "118 GFLOP/s");
  CHECK(format_operations(1.5e8) == "0.15 GFLOP/s");
  CHECK(format_operations(1.236e12) == "1.24 TFLOP/s");
}

TEST_CASE("numbers are formatted for people") {
  CHECK(format_count(1234567) == "1,234,567");
  CHECK(format_count(-1000) == "-1,000");
  CHECK(format_count(999) == "999");
  CHECK(format_loss(1.23456) == "1.2346");
  CHECK(format_loss(0.00012345) == "0.000123");
  CHECK(format_loss(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(format_rate(12.34) == "12.3");
  CHECK(format_rate(12480.4) == "12,480");
  CHECK(format_bytes(512) == "512 B");
  CHECK(format_bytes(1536.0 * 1024 * 1024) == "1.5 GiB");
  CHECK(format_seconds(0.0123) == "12.3 ms");
  CHECK(format_seconds(0.9994) == "999 ms");
  CHECK(format_seconds(0.9996) == "1 s");
  CHECK(format_seconds(750) == "12 min 30 s");
  CHECK(format_seconds(3900) == "1 h 05 min");
  CHECK(format_clock(45) == "0:45");
  CHECK(format_clock(3723) == "1:02:03");
  CHECK(format_clock(std::numeric_limits<double>::quiet_NaN()) == "-:--");
}
