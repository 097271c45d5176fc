#include "troupe/collectives/strategy.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe;
using namespace troupe::collectives;

namespace {

Strategy offloading(const std::string& strategy, const OffloadConfig& offload, int world_size) {
  ParallelConfig parallel;
  parallel.strategy = strategy;
  parallel.offload = offload;
  return strategy_of(parallel, world_size);
}

} // namespace

TEST_CASE("what stays on the device is the front, whole vectors of it, as the ratio says") {
  CHECK(Strategy{}.kept(1000) == 1000);
  CHECK(offloading("ddp", {"optimizer", 1}, 2).kept(1000) == 0);
  const auto half = offloading("ddp", {"optimizer", 0.5}, 2);
  CHECK(half.kept(1000) == 496);
  CHECK(half.kept(1600) == 800);
  CHECK(half.kept(20) == 0);
  CHECK(offloading("ddp", {"optimizer", 0.25}, 2).kept(1 << 20) == 3 << 18);
}

TEST_CASE("a rank alone divides nothing, but gathers parameters that are offloaded") {
  const auto optimizer = offloading("fsdp", {"optimizer", 1}, 1);
  CHECK(optimizer.offloads());
  CHECK_FALSE(optimizer.divides_parameters);
  CHECK_FALSE(optimizer.divides_optimizer);
  const auto parameters = offloading("fsdp", {"parameters", 1}, 1);
  CHECK(parameters.shards == 1);
  CHECK(parameters.divides_parameters);
  CHECK(parameters.divides_gradients);
  CHECK(parameters.offloads_parameters);
  CHECK_FALSE(offloading("fsdp", {}, 1).divides_parameters);
}
