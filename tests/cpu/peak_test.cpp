#include "cpu/detail/bursts.hpp"
#include "cpu/detail/core_threads.hpp"
#include "cpu/peak.hpp"
#include "cpu/processor.hpp"
#include "tests/support/environment_variable.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>

using namespace troupe;
using namespace troupe::cpu;

namespace {

constexpr double undisturbed = 1.0 / (1 << 20); ///< seconds per round, exact in binary

/// Takes eight times as long in every try but one, which is not interrupted.
TimedRun interrupted_but_once(int& runs) {
  return [&runs](const Burst& burst) {
    const bool is_interrupted = ++runs != 37;
    return static_cast<double>(burst.rounds) * undisturbed * (is_interrupted ? 8 : 1);
  };
}

} // namespace

TEST_CASE("one undisturbed burst among a hundred gives the rate") {
  const Burst burst{.name = "fake", .run = nullptr, .operations = 100, .rounds = 50};
  int runs = 0;
  CHECK(fastest_rate(burst, 100, interrupted_but_once(runs)) == 100 / undisturbed);
  CHECK(runs == 100);
}

TEST_CASE("the meter keeps the largest measurement") {
  std::vector<double> measurements = {7, 5, 9, 8};
  PeakMeter meter{[&, next = 0]() mutable { return measurements.at(next++); }};
  CHECK(meter.largest() == 7);
  CHECK(meter.largest() == 7); // without another measurement
  CHECK(meter.measure() == 7);
  CHECK(meter.measure() == 9);
  CHECK(meter.measure() == 9);
  CHECK(meter.largest() == 9);
}

TEST_CASE("each instruction set has a burst that runs") {
  for (const char* limit : {"baseline", "avx2", "avx512", "best"}) {
    const testing::EnvironmentVariable limited{"TROUPE_ISA", limit};
    for (const auto type : {DType::f32, DType::bf16}) {
      const auto bursts = bursts_of(type);
      REQUIRE_FALSE(bursts.empty());
      for (const auto& burst : bursts) {
        CAPTURE(limit, burst.name);
        // At most 4096 operations per cycle (AMX) and 6 cycles per nanosecond.
        const auto rate = fastest_rate(burst, 3);
        CHECK(rate > 0);
        CHECK(rate < 6e9 * 4096);
      }
    }
  }
}

TEST_CASE("a lower instruction set has no burst of a higher one") {
  const testing::EnvironmentVariable limited{"TROUPE_ISA", "baseline"};
  for (const auto type : {DType::f32, DType::bf16}) {
    const auto bursts = bursts_of(type);
    REQUIRE(bursts.size() == 1);
    for (const auto* higher : {"avx2", "avx512", "avx512_bf16", "amx_bf16"})
      CHECK(bursts.front().name != higher);
  }
}

TEST_CASE("hyperthreads of one core count once") {
  const testing::ScratchFolder folder;
  const auto put = [&](int processor, const char* siblings) {
    const auto topology = folder.path() / ("cpu" + std::to_string(processor)) / "topology";
    std::filesystem::create_directories(topology);
    std::ofstream{topology / "thread_siblings_list"} << siblings << "\n";
  };
  put(0, "0,2");
  put(1, "1,3");
  put(2, "0,2");
  put(3, "1,3");
  using Processors = std::vector<int>;
  CHECK(one_of_each_core({0, 1, 2, 3}, folder.path()) == Processors{0, 1});
  CHECK(one_of_each_core({2, 3}, folder.path()) == Processors{2, 3});
  CHECK(one_of_each_core({0, 2}, folder.path()) == Processors{0});
  CHECK(one_of_each_core({4, 5}, folder.path()) ==
        Processors{4, 5}); // the system hides their cores
}

TEST_CASE("one core and several cores have a peak") {
  CHECK(measure_peak(DType::f32, 1) > 0);
  CHECK(measure_peak(DType::bf16, 2) > 0);
}
