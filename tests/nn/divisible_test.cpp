#include "core/config/config.hpp"
#include "nn/config_check.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::nn;

namespace {

/// ResNet-20 has 11 units with parameters: stem, 9 blocks, head.
Config sharded() {
  Config config;
  config.model.name = "resnet20";
  config.parallel.strategy = StrategyKind::zero3;
  config.devices.count = 2;
  return config;
}

std::string only_conflict(const Config& config) {
  const auto found = find_graph_conflicts(config);
  return found.size() == 1 ? found.front().keys.front() + ": " + found.front().what
                           : std::to_string(found.size()) + " conflicts";
}

} // namespace

TEST_CASE("more names of units than units with parameters are refused") {
  auto config = sharded();
  config.parallel.wrap = {.policy = WrapConfig::Policy::by_name,
                          .units = std::vector<std::string>(12, "layer1")};
  CHECK(only_conflict(config) ==
        "parallel.wrap: 12 names, but the model has 11 units with parameters");
  config.parallel.wrap.units = {"layer1", "layer3.1"};
  CHECK(find_graph_conflicts(config).empty());
}

TEST_CASE("more workers than parameters are refused if parameters are sharded") {
  auto config = sharded();
  config.model = {.name = "linear", .num_classes = 2, .in_channels = 1};
  config.data.image_size = 1;
  config.devices.count = 4; // two weights, two biases
  CHECK(find_graph_conflicts(config).empty());
  config.devices.count = 5;
  CHECK(only_conflict(config) == "parallel.strategy: 5 workers have to share 4 parameters: some "
                                 "would have none");
  config.devices.count = 6;
  config.parallel.strategy = StrategyKind::hsdp; // in groups of 2
  CHECK(find_graph_conflicts(config).empty());
  config.parallel.strategy = StrategyKind::ddp;
  CHECK(find_graph_conflicts(config).empty());
}
