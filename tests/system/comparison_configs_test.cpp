#include "../source_tree.hpp"
#include "experiment.hpp"

#include "troupe/core/config/load.hpp"
#include "troupe/nn/config_check.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("configs that are meant for a GPU train in seconds in their debug size") {
  const auto configs = source_tree() / "configs";
  const auto models = nn::model_catalogue();
  int trained = 0;
  for (const auto& entry : std::filesystem::directory_iterator{configs / "debug"}) {
    const auto& file = entry.path();
    INFO(file.string());
    const auto small = load_config(file, {}, Capabilities::all(), models);
    const auto full = load_config(configs / file.filename(), {}, Capabilities::all(), models);
    REQUIRE(small);
    REQUIRE(full);
    CHECK(small->model == full->model);
    CHECK(small->precision == full->precision);
    CHECK(small->parallel == full->parallel);
    CHECK(small->train.optimizer.name == full->train.optimizer.name);

    const Experiment experiment({}, file);
    const auto summary = experiment.completed("debug").summary();
    CHECK(summary.at("steps") == 3);
    CHECK(summary.at("precision") == full->precision.mode);
    CHECK(std::isfinite(summary.at("loss").get<double>()));
    CHECK(summary.at("accuracy").is_number());
    ++trained;
  }
  CHECK(trained >= 12);
}
