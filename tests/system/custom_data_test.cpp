// Tests samples that are neither images nor rows of a table, from a custom data set.
#include "actors/node_runtime.hpp"
#include "core/config/custom_data_set.hpp"
#include "core/config/custom_key.hpp"
#include "core/config/load.hpp"
#include "core/sha256.hpp"
#include "data/adapter.hpp"
#include "nn/config_check.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstring>
#include <limits>

using namespace troupe;
using namespace troupe::testing;

namespace {

const CustomKey<std::int64_t> points = {"points", 4, {.min = 1}, "Of a sample"};

/// Sample i is i mod 8 steps on a ramp, and its number.
class Ramps final : public data::Dataset {
public:
  std::string_view name() const override { return "ramps"; }
  const std::vector<std::string>& class_names() const override { return no_classes_; }
  std::int64_t size() const override { return 64; }

private:
  void add_content(Sha256& sha) const override { sha.update("ramps"); }

  std::vector<std::string> no_classes_;
};

class RampAdapter final : public data::Adapter {
public:
  explicit RampAdapter(std::int64_t count)
      : Adapter{{{"features", DType::f32, {count, 2}}, {"targets", DType::f32, {1}}}}, count_{
                                                                                           count} {}

  const data::Dataset& dataset() const override { return ramps_; }
  std::string_view sample_name() const override { return "ramps"; }
  Status fill(std::span<const std::int64_t> samples, std::int64_t, data::Fields to) const override {
    auto* feature = reinterpret_cast<float*>(to[0].data());
    auto* target = reinterpret_cast<float*>(to[1].data());
    for (const auto sample : samples) {
      const auto slope = static_cast<float>(sample % 8) / 8;
      for (std::int64_t i = 0; i < 2 * count_; ++i)
        *feature++ = sample < 0 ? 0 : slope * static_cast<float>(i) / static_cast<float>(count_);
      *target++ = sample < 0 ? std::numeric_limits<float>::quiet_NaN() : slope;
    }
    return {};
  }

private:
  Ramps ramps_;
  std::int64_t count_;
};

const CustomDataSet ramps = {
    .traits = {.name = "ramps", .sample = SampleKind::tensor, .files = false},
    .keys = [](DataConfig& data) { return std::vector{custom_key(data, points)}; },
    .sample =
        [](const DataConfig& data) {
          return Shape{custom_value(data, points), 2};
        },
    .open = [](const Config& config, data::Split) -> Result<data::AdapterPtr> {
      return std::make_shared<const RampAdapter>(custom_value(config.data, points));
    }};

} // namespace

TEST_CASE("two workers train on tensors of a custom data set") {
  const Experiment experiment;
  auto catalogue = nn::model_catalogue();
  catalogue.custom_sets = CustomRows{std::vector{ramps}};
  const auto config =
      parse_config("model: {name: mlp, hidden: [8], num_classes: 1, loss: mean_squared_error}\n"
                   "data: {dataset: ramps, points: 3, batch_size: 16, eval_batch_size: 48}\n"
                   "train: {epochs: 10, optimizer: {lr: 0.1}}\n"
                   "parallel: {strategy: ddp}\n"
                   "devices: {kind: cpu, count: 2, threads_per_worker: 1}\n"
                   "metrics: {listen: \"off\"}\n"
                   "run: {name: ramps, output: " +
                       experiment.output().string() + "}\n",
                   "a.yaml", {}, host_capabilities(), catalogue);
  INFO((config ? "" : to_error(config.error()).message));
  REQUIRE(config);
  const auto ended = actors::run_training(
      *config, {.quiet = true, .config_text = to_yaml(*config, nn::catalogue_of(*config))});
  REQUIRE(ended);
  CHECK(ended->status == "completed");
  const auto losses = experiment.run("ramps").losses();
  REQUIRE(losses.size() == 40);
  CHECK(losses.back() < losses.front() / 2);
}
