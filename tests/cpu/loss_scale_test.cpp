// Compares loss scaling on the host device with an independent implementation of PyTorch's
// definitions (GradScaler, SGD, Adam; torch 2), over 200 steps with inserted infinities and NaNs.
#include "core/random.hpp"
#include "cpu/host_device.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace troupe;

namespace {

constexpr std::size_t n = 40001;
constexpr LossScaleOptions options{.initial = 1024.0f, .interval = 7};

/// torch.amp.GradScaler and torch.optim, in double, one element at a time.
struct Torch {
  double scale = double{options.initial};
  int growth_tracker = 0, skipped = 0, optimizer_steps = 0;
  std::vector<double> parameters, first, second;

  void step(const OptimizerArguments& a, const std::vector<float>& scaled, float max_norm) {
    bool found_inf = false;
    double norm = 0;
    for (const float g : scaled) {
      found_inf = found_inf || !std::isfinite(g);
      norm += std::pow(double{g} / scale, 2);
    }
    const double clip = std::min(1.0, double{max_norm} / (std::sqrt(norm) + 1e-6));
    if (!found_inf) {
      ++optimizer_steps;
      for (std::size_t i = 0; i < scaled.size(); ++i)
        update(a, i, double{scaled[i]} / scale * clip);
    } else {
      ++skipped;
    }
    if (found_inf) {
      scale *= 0.5;
      growth_tracker = 0;
    } else if (++growth_tracker == options.interval) {
      scale *= 2;
      growth_tracker = 0;
    }
  }

  void update(const OptimizerArguments& a, std::size_t i, double g) {
    g += double{a.weight_decay} * parameters[i];
    if (a.kind == OptimizerKind::sgd) {
      first[i] = optimizer_steps == 1 ? g : double{a.momentum} * first[i] + g;
      parameters[i] -= double{a.lr} * first[i];
      return;
    }
    const double b1 = double{a.beta1}, b2 = double{a.beta2};
    first[i] = b1 * first[i] + (1 - b1) * g;
    second[i] = b2 * second[i] + (1 - b2) * g * g;
    const double m = first[i] / (1 - std::pow(b1, optimizer_steps));
    const double v = second[i] / (1 - std::pow(b2, optimizer_steps));
    parameters[i] -= double{a.lr} * m / (std::sqrt(v) + double{a.eps});
  }
};

std::vector<float> noise(std::uint64_t seed, float scale) {
  CounterRng rng{seed, 3};
  std::vector<float> values(n);
  for (auto& value : values)
    value = scale * (2 * rng.uniform() - 1);
  return values;
}

/// Inserts one or several infinities and NaNs, at the ends and inside, also in the first step.
void plant(std::vector<float>& gradients, int step) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  if (step == 0 || step % 31 == 5)
    gradients[0] = inf;
  if (step % 47 == 11)
    gradients[n - 1] = std::numeric_limits<float>::quiet_NaN();
  if (step == 100 || step == 101) {
    gradients[n / 2] = -inf;
    gradients[n / 3] = inf;
  }
}

void check_sequence(const OptimizerArguments& first) {
  constexpr float max_norm = 20.0f;
  const auto device = cpu::make_host_device(0, 2);
  const auto stream = device->create_stream({"compute", 2});
  auto parameters = noise(1, 1);
  std::vector<float> state0(n), state1(n);
  LossScaleState scaler{.scale = options.initial};
  Torch torch{.parameters = {parameters.begin(), parameters.end()},
              .first = std::vector<double>(n),
              .second = std::vector<double>(n)};
  double squared_norm = 0;
  float clip = 0;
  for (int step = 0; step < 200; ++step) {
    auto gradients = noise(100 + static_cast<std::uint64_t>(step), scaler.scale * 0.2f);
    plant(gradients, step);
    const auto before = parameters, before0 = state0;
    auto arguments = first;
    arguments.step = step + 1; // only the scaler's step count matters
    device->check_finite(*stream, gradients.data(), n, &scaler.found_inf);
    squared_norm = 0; // the stream is idle between steps
    device->add_squared_norm(*stream, arguments, gradients.data(), n, &squared_norm, &scaler);
    device->clip_factor(*stream, &squared_norm, max_norm, &clip);
    device->optimizer_step(*stream, arguments,
                           {parameters.data(), gradients.data(), state0.data(), state1.data(), n},
                           &clip, &scaler);
    device->update_loss_scale(*stream, options, &scaler);
    REQUIRE(stream->synchronize());
    const auto skipped = torch.skipped;
    torch.step(arguments, gradients, max_norm);
    INFO("step " << step);
    REQUIRE(double{scaler.scale} == torch.scale);
    REQUIRE(scaler.growth_tracker == torch.growth_tracker);
    REQUIRE(scaler.skipped == torch.skipped);
    REQUIRE(scaler.taken == torch.optimizer_steps);
    REQUIRE(scaler.found_inf == 0.0f);
    if (torch.skipped > skipped) { // bit for bit
      REQUIRE(parameters == before);
      REQUIRE(state0 == before0);
    }
  }
  CHECK(torch.skipped == 15);
  for (std::size_t i = 0; i < n; ++i)
    REQUIRE(double{parameters[i]} == Catch::Approx(torch.parameters[i]).epsilon(1e-4).margin(1e-5));
}

} // namespace

TEST_CASE("200 scaled steps of SGD match PyTorch") {
  check_sequence({.lr = 0.01f, .momentum = 0.9f, .weight_decay = 1e-3f});
}

TEST_CASE("200 scaled steps of Adam match PyTorch: skipped steps do not count") {
  check_sequence({.kind = OptimizerKind::adam, .lr = 0.001f, .weight_decay = 1e-3f});
}

TEST_CASE("non-finite values of every kind are found at every position") {
  const auto device = cpu::make_host_device(0, 2);
  const auto stream = device->create_stream({"compute", 2});
  constexpr float largest = std::numeric_limits<float>::max();
  std::vector<float> values(n, -largest);
  float found = 0;
  const auto check = [&] {
    found = 0;
    device->check_finite(*stream, values.data(), n, &found);
    REQUIRE(stream->synchronize());
    return found;
  };
  CHECK(check() == 0.0f);
  for (const float bad : {INFINITY, -INFINITY, std::numeric_limits<float>::quiet_NaN()})
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{15}, std::size_t{16383}, std::size_t{16384}, n - 1}) {
      values[at] = bad;
      CHECK(check() == 1.0f);
      values[at] = largest;
    }
  found = 1; // found in an earlier part of the gradients
  device->check_finite(*stream, values.data(), n, &found);
  REQUIRE(stream->synchronize());
  CHECK(found == 1.0f);
}

TEST_CASE("clipping before unscaling would give another result") {
  const auto device = cpu::make_host_device(0, 1);
  const auto stream = device->create_stream({});
  const LossScaleState scaler{.scale = 1024};
  const std::vector<float> gradients = {0.3f * 1024, -0.4f * 1024}; // the unscaled norm is 0.5
  double unscaled_norm = 0, scaled_norm = 0;
  float after = 0, before = 0;
  device->add_squared_norm(*stream, {}, gradients.data(), 2, &unscaled_norm, &scaler);
  device->add_squared_norm(*stream, {}, gradients.data(), 2, &scaled_norm, nullptr);
  device->clip_factor(*stream, &unscaled_norm, 1.0f, &after);
  device->clip_factor(*stream, &scaled_norm, 1.0f, &before);
  REQUIRE(stream->synchronize());
  CHECK(after == 1.0f);
  CHECK(before < 0.01f);
}
