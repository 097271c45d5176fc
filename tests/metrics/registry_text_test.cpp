#include "metrics/registry/detail/families.hpp"
#include "metrics/registry/names.hpp"
#include "tests/metrics/text.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <prometheus/text_serializer.h>

#include <limits>
#include <map>
#include <sstream>

using namespace troupe;
using namespace troupe::metrics;

namespace {

struct Exposed {
  std::map<std::string, double> samples; ///< by name and labels
  std::map<std::string, std::string> comments;
};

Exposed exposed(const std::string& text) {
  Exposed all;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    const auto space = line.rfind(' ');
    if (line.starts_with('#'))
      all.comments[line.substr(0, line.find(' ', 7))] = line;
    else
      REQUIRE(all.samples.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second);
  }
  return all;
}

constexpr std::array numbers = {0.0,  -1.0, 1.0 / 3, 1e-7,      12345678.9,
                                1e15, 1e16, 6.02e23, -2.5e-300, 9007199254740993.0};

void fill(Families& families) {
  std::size_t i = 0;
  for (const auto number : numbers)
    families.set(names::memory, number, {std::to_string(i++), "a \"kind\"\nwith \\ and ü"});
  families.set(names::loss, std::numeric_limits<double>::infinity(), {"train"});
  families.set(names::accuracy, -std::numeric_limits<double>::infinity(), {"test"});
  families.add(names::steps, 1e6);
  families.add(names::collective_time, 0.1, {"all_reduce"});
  for (const auto seconds : {0.0001, 0.03, 0.5, 100.0})
    families.observe(names::step_time, seconds);
  families.begin(names::recovery_time);
}

} // namespace

TEST_CASE("the text of all values matches prometheus-cpp's") {
  Families families;
  CHECK(families.text().empty());
  fill(families);
  const auto ours = exposed(families.text());
  const auto theirs = exposed(prometheus::TextSerializer{}.Serialize(families.collect()));
  CHECK(ours.comments == theirs.comments);
  REQUIRE(ours.samples.size() == theirs.samples.size());
  for (const auto& [name, number] : theirs.samples) {
    CAPTURE(name);
    REQUIRE(ours.samples.contains(name));
    CHECK(ours.samples.at(name) == Catch::Approx{number}.epsilon(1e-15));
  }
}

TEST_CASE("a number is read back from the text with the same bits") {
  Families families;
  fill(families);
  const auto samples = exposed(families.text()).samples;
  std::size_t i = 0;
  for (const auto number : numbers) {
    const auto name = R"(troupe_memory_bytes{kind="a \"kind\"\nwith \\ and ü",rank=")" +
                      std::to_string(i++) + "\"}";
    REQUIRE(samples.contains(name));
    CHECK(samples.at(name) == number);
  }
}

TEST_CASE(
    "non-finite values are written as Prometheus reads them, and forgotten ones are omitted") {
  Families families;
  families.set(names::loss, std::numeric_limits<double>::quiet_NaN(), {"train"});
  families.set(names::host_memory, 5, {"host"});
  families.set(names::host_memory, 6, {"cgroup"});
  families.forget(names::host_memory);
  families.forget(names::host_memory_limit);
  CHECK(testing::has(families.text(), "troupe_loss{set=\"train\"} NaN\n"));
  CHECK_FALSE(testing::has(families.text(), "troupe_host_memory"));
  families.set(names::host_memory, 7, {"host"});
  CHECK(testing::has(families.text(), "troupe_host_memory_bytes{limit=\"host\"} 7\n"));
}
