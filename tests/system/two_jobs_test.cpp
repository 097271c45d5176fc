#include "actors/node_runtime.hpp"
#include "core/config/load.hpp"
#include "nn/config_check.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>

#include <future>

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("two jobs in one process match separate processes", "[long]") {
  const Settings one = {"run.seed=1", "train.epochs=10"};
  const Settings other = {"run.seed=2", "train.epochs=10", "parallel.strategy=ddp",
                          "devices.count=2"};
  const Experiment experiment;
  const auto begin = [&](const std::string& name, Settings settings) {
    settings.insert(settings.end(),
                    {"run.name=" + name, "run.output=" + experiment.output().string()});
    const auto config = load_config(Experiment::small_config(), settings, host_capabilities(),
                                    nn::model_catalogue());
    REQUIRE(config);
    return std::async(std::launch::async, [config = *config] {
      return actors::run_training(
          config, {.quiet = true, .config_text = to_yaml(config, nn::model_catalogue())});
    });
  };
  auto first = begin("first", one), second = begin("second", other);
  const auto ended_first = first.get(), ended_second = second.get();
  REQUIRE(ended_first);
  REQUIRE(ended_second);
  CHECK(ended_first->status == "completed");
  CHECK(ended_second->status == "completed");
  CHECK(ended_first->parameters_sha256 == experiment.completed("first-alone", one).digest());
  CHECK(ended_second->parameters_sha256 == experiment.completed("second-alone", other).digest());
  CHECK(experiment.run("first").losses() == experiment.run("first-alone").losses());
  CHECK(experiment.run("second").losses() == experiment.run("second-alone").losses());
}
