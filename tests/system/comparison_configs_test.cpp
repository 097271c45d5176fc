#include "core/config/load.hpp"
#include "nn/config_check.hpp"
#include "tests/support/source_tree.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A config reduced for tests, and the full config that it is derived from.
struct DebugConfig {
  std::filesystem::path file;
  Config small, full;

  bool reads_text() const { return full.data.dataset == "text"; }
};

Config loaded(const std::filesystem::path& file) {
  INFO(file.string());
  auto config = load_config(file, {}, Capabilities::all(), nn::model_catalogue());
  REQUIRE(config);
  return std::move(*config);
}

std::vector<DebugConfig> debug_configs(bool that_read_text) {
  const auto configs = source_tree() / "configs";
  std::vector<DebugConfig> found;
  for (const auto& entry : std::filesystem::directory_iterator{configs / "debug"}) {
    const auto& file = entry.path();
    DebugConfig one{file, loaded(file), loaded(configs / file.filename())};
    if (one.reads_text() == that_read_text)
      found.push_back(std::move(one));
  }
  return found;
}

/// Returns the summary of three steps; requires the precision and the strategy of the full config.
nlohmann::json trained(const DebugConfig& one) {
  CHECK(one.small.precision == one.full.precision);
  CHECK(one.small.parallel == one.full.parallel);
  const Experiment experiment(one.reads_text() ? text_of_this_tree() : Settings{}, one.file);
  auto summary = experiment.completed("debug").summary();
  CHECK(summary.at("steps") == 3);
  CHECK(summary.at("precision") == to_string(one.full.precision.mode));
  CHECK(std::isfinite(summary.at("loss").get<double>()));
  return summary;
}

} // namespace

TEST_CASE("configs for a GPU train in seconds in their debug size", "[long]") {
  const auto configs = debug_configs(false);
  CHECK(configs.size() >= 12);
  for (const auto& one : configs) {
    INFO(one.file.string());
    CHECK(one.small.model == one.full.model);
    CHECK(one.small.train.optimizer.name == one.full.train.optimizer.name);
    CHECK(trained(one).at("accuracy").is_number());
  }
}

TEST_CASE("configs of language models train in seconds in their debug size") {
  const auto configs = debug_configs(true);
  CHECK(configs.size() >= 2);
  for (const auto& one : configs) {
    INFO(one.file.string());
    CHECK(one.small.model.name == one.full.model.name);
    CHECK(one.small.train.optimizer == one.full.train.optimizer);
    CHECK(one.small.train.schedule.name == one.full.train.schedule.name);
    CHECK(one.small.train.recompute == one.full.train.recompute);
    CHECK(trained(one).at("tokens_per_sample") == one.small.data.sequence_length);
  }
}
