#include "core/units.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace std::chrono_literals;

TEST_CASE("sizes are bytes or numbers with a binary or decimal unit") {
  CHECK(parse_size("0") == 0);
  CHECK(parse_size("18446744073709551615") == UINT64_MAX);
  CHECK(parse_size("512B") == 512);
  CHECK(parse_size("25MiB") == 25u << 20);
  CHECK(parse_size("25 MiB") == 25u << 20);
  CHECK(parse_size("1.5GiB") == 3ull << 29);
  CHECK(parse_size("10MB") == 10'000'000);
  CHECK(parse_size("2kB") == 2000);
  CHECK(parse_size("1.001MB") == 1'001'000); // not exact in binary
  for (const auto* wrong : {"", "MiB", "-1", "-1MiB", "1.3B", "25mib", "25 M", "1e3", "inf", "nan",
                            "0x10", "25MiB ", " 25MiB", "18446744073709551616", "99999999TiB"})
    CHECK(parse_size(wrong) == std::nullopt);
}

TEST_CASE("sizes are written with the largest unit that divides them") {
  CHECK(format_size(0) == "0");
  CHECK(format_size(1000) == "1000");
  CHECK(format_size(1024) == "1KiB");
  CHECK(format_size(25u << 20) == "25MiB");
  CHECK(format_size(3ull << 29) == "1536MiB");
  for (const std::uint64_t bytes : {0ull, 1ull, 1536ull, 1ull << 40, (1ull << 40) + 1})
    CHECK(parse_size(format_size(bytes)) == bytes);
}

TEST_CASE("durations need a unit") {
  CHECK(parse_duration("100ms") == 100ms);
  CHECK(parse_duration("5s") == 5s);
  CHECK(parse_duration("0.25 s") == 250ms);
  CHECK(parse_duration("16.1s") == 16100ms); // not exact in binary
  CHECK(parse_duration("1.001s") == 1001ms);
  CHECK(parse_duration("1min") == 1min);
  CHECK(parse_duration("2h") == 2h);
  for (const auto* wrong : {"", "5", "s", "-1s", "1.5ms", "1.0001s", "1 minute", "5S", "1s 5ms"})
    CHECK(parse_duration(wrong) == std::nullopt);
}

TEST_CASE("durations are written with the largest unit that divides them") {
  CHECK(format_duration(0ms) == "0ms");
  CHECK(format_duration(1500ms) == "1500ms");
  CHECK(format_duration(90s) == "90s");
  CHECK(format_duration(60s) == "1min");
  CHECK(format_duration(7200s) == "2h");
}

TEST_CASE("intervals are a number of epochs or steps, or never") {
  CHECK(parse_interval("never") == Interval{});
  CHECK(parse_interval("1 epoch") == Interval{Interval::Unit::epochs, 1});
  CHECK(parse_interval("12 epochs") == Interval{Interval::Unit::epochs, 12});
  CHECK(parse_interval("500 steps") == Interval{Interval::Unit::steps, 500});
  for (const auto* wrong : {"", "1", "epoch", "0 epochs", "-1 steps", "1.5 epochs", "1  epoch",
                            "1 week", "Never", "1 epoch ", "99999999999 steps"})
    CHECK(parse_interval(wrong) == std::nullopt);
  for (const auto* text : {"never", "1 epoch", "2 epochs", "1 step", "500 steps"})
    CHECK(format_interval(*parse_interval(text)) == text);
}

TEST_CASE("endpoints are HOST:PORT") {
  CHECK(parse_endpoint("127.0.0.1:9401") == Endpoint{"127.0.0.1", 9401});
  CHECK(parse_endpoint("node-1.example:0") == Endpoint{"node-1.example", 0});
  CHECK(parse_endpoint("[::1]:7401") == Endpoint{"::1", 7401});
  for (const auto* wrong : {"", "host", ":80", "host:", "host:x", "host:65536", "host:-1", "::1:80",
                            "[]:80", "a b:80", "http://host:80"})
    CHECK(parse_endpoint(wrong) == std::nullopt);
}

TEST_CASE("loopback addresses and wildcard addresses are recognized") {
  for (const auto* host : {"127.0.0.1", "127.1.2.3", "::1", "localhost"})
    CHECK(is_loopback({host, 1}));
  for (const auto* host : {"0.0.0.0", "10.0.0.1", "::", "128.0.0.1", "127.0.0.1.example", "node-1"})
    CHECK_FALSE(is_loopback({host, 1}));
  CHECK(is_any_address({"0.0.0.0", 1}));
  CHECK(is_any_address({"::", 1}));
  for (const auto* host : {"127.0.0.1", "::1", "node-1"})
    CHECK_FALSE(is_any_address({host, 1}));
}
