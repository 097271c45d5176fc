#include "tests/support/checkpoint_files.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cmath>

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr float lr = 0.125f;

/// Returns the parameter change in the run's last step divided by -lr, with SGD without momentum:
/// the clipped gradient.
std::vector<float> last_gradient(const RunFiles& run) {
  const auto files = run.checkpoints();
  REQUIRE(files.size() == 2); // after the last step, and before it
  const auto before = read_checkpoint(files[0]), after = read_checkpoint(files[1]);
  REQUIRE(before);
  REQUIRE(after);
  std::vector<float> gradient;
  for (const auto& tensor : after->tensors) {
    const auto old = before->find(tensor.name)->values;
    for (std::size_t i = 0; i < tensor.values.size(); ++i)
      gradient.push_back((old[i] - tensor.values[i]) / lr);
  }
  return gradient;
}

float largest(const std::vector<float>& gradient) {
  float most = 0;
  for (const float g : gradient)
    most = std::max(most, std::abs(g));
  return most;
}

double norm(const std::vector<float>& gradient) {
  double sum = 0;
  for (const float g : gradient)
    sum += double{g} * double{g};
  return std::sqrt(sum);
}

} // namespace

TEST_CASE("gradients are clipped after unscaling and averaging over all ranks") {
  const Settings strategy = GENERATE(Settings{}, Settings{"precision.mode=amp_fp16"},
                                     Settings{"parallel.strategy=ddp", "devices.count=2"},
                                     Settings{"train.accumulate=2"});
  CAPTURE(strategy);
  Settings settings = {"model.name=mlp",
                       "model.hidden=[16]",
                       "devices.engine=interpreter",
                       "train.evaluate_every=0",
                       "train.max_steps=2",
                       "checkpoint.every=1 steps",
                       "train.optimizer.lr=0.125",
                       "train.optimizer.momentum=0",
                       "train.optimizer.momentum.nesterov=false",
                       "train.optimizer.weight_decay=0",
                       "train.schedule.name=constant",
                       "train.schedule.warmup=0"};
  settings.insert(settings.end(), strategy.begin(), strategy.end());
  const Experiment experiment(settings);
  const auto plain = last_gradient(experiment.completed("plain"));
  REQUIRE(largest(plain) > 0.02f);
  REQUIRE(norm(plain) > 0.2);

  // Metrics report the norm, whether it is clipped or only measured, and no bit changes.
  const auto measured = experiment.completed("measured", {"train.gradient_norm_every=1"});
  CHECK((last_gradient(measured) == plain));
  CHECK(measured.column<double>("gradient_norm").at(1) == Catch::Approx(norm(plain)).epsilon(1e-4));

  const auto by_value =
      last_gradient(experiment.completed("value", {"train.clip_grad.value=0.01"}));
  CHECK(largest(by_value) == Catch::Approx(0.01).epsilon(1e-4));
  CHECK(std::ranges::count_if(by_value, [](float g) { return std::abs(g) > 0.00999f; }) > 10);

  const auto clipped = experiment.completed("loose", {"train.clip_grad=1e9"});
  CHECK(clipped.column<double>("gradient_norm") == measured.column<double>("gradient_norm"));
  const auto by_norm = last_gradient(experiment.completed("norm", {"train.clip_grad=0.125"}));
  CHECK(norm(by_norm) == Catch::Approx(0.125).epsilon(1e-4));

  const auto by_both = last_gradient(
      experiment.completed("both", {"train.clip_grad.value=0.01", "train.clip_grad=0.05"}));
  CHECK(norm(by_both) == Catch::Approx(0.05).epsilon(1e-4));
  // Clipping by value came first: the elements that reached that bound are still equal.
  const float most = largest(by_both);
  CHECK(std::ranges::count_if(by_both, [&](float g) { return std::abs(g) > 0.999f * most; }) > 10);
}
