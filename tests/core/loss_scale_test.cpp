#include "core/config/config.hpp"
#include "core/device/loss_scale.hpp"
#include "core/graph/precision.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;

TEST_CASE("the scale grows after an interval of good steps, and starts to count again") {
  const LossScaleOptions options{.interval = 3};
  LossScaleState state;
  for (int i = 0; i < 2; ++i)
    update_loss_scale(options, state);
  CHECK(state.scale == 65536.0f);
  CHECK(state.growth_tracker == 2);
  update_loss_scale(options, state);
  CHECK(state.scale == 131072.0f);
  CHECK(state.growth_tracker == 0);
  CHECK(state.taken == 3);
  CHECK(state.grown == 1);
  CHECK(state.skipped == 0);
}

TEST_CASE("a step that is not finite halves the scale and counts as skipped") {
  LossScaleState state{.scale = 8, .found_inf = 1, .growth_tracker = 1999, .taken = 5};
  update_loss_scale({}, state);
  CHECK(state == LossScaleState{.scale = 4, .skipped = 1, .taken = 5});
}

TEST_CASE("a scale never becomes infinite") {
  LossScaleState state{.scale = 0x1p127f};
  update_loss_scale({.interval = 1}, state);
  CHECK(state.scale == 0x1p127f);
  CHECK(state.growth_tracker == 0);
  CHECK(state.grown == 0);
}

TEST_CASE("factors are doubles, as in PyTorch, and the scale rounds once") {
  LossScaleState state{.scale = 3, .found_inf = 1};
  update_loss_scale({.backoff = 0.3}, state);
  CHECK(state.scale == static_cast<float>(3 * 0.3));
  CHECK(state.scale != 3 * 0.3f);
}

TEST_CASE("only amp_fp16 scales its loss, as configured, and it can be switched off") {
  PrecisionConfig config{.mode = Precision::amp_fp16};
  CHECK(loss_scale_options(config) == LossScaleOptions{});
  config.loss_scale = {
      .initial = 128, .growth_factor = 3, .backoff_factor = 0.25, .growth_interval = 7};
  CHECK(loss_scale_options(config) == LossScaleOptions{128, 3, 0.25, 7});
  config.loss_scale.enabled = false;
  CHECK_FALSE(loss_scale_options(config).has_value());
  for (const auto mode :
       {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16, Precision::amp_bf16})
    CHECK_FALSE(loss_scale_options({.mode = mode}).has_value());
}

TEST_CASE("a state is converted to text and back") {
  const LossScaleState state{
      .scale = 0.1f, .growth_tracker = 7, .skipped = 3, .taken = 1LL << 40, .grown = 5};
  CHECK(parse_loss_scale(to_string(state)) == state);
  CHECK(to_string(LossScaleState{}) == "65536 0 0 0 0");
  for (const char* wrong :
       {"", "65536", "65536 0 0 0", "65536 0 0 0 0 0", "x 0 0 0 0", "-1 0 0 0 0"})
    CHECK_FALSE(parse_loss_scale(wrong).has_value());
}

TEST_CASE("precisions are named as in the config") {
  for (const auto precision : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16,
                               Precision::amp_fp16, Precision::amp_bf16})
    CHECK(choice_named<Precision>(to_string(precision)) == precision);
  CHECK_FALSE(choice_named<Precision>("amp_fp8").has_value());
  CHECK(compute_type(Precision::amp_fp16) == DType::f16);
  CHECK(compute_type(Precision::tf32) == DType::f32);
  CHECK(scales_loss(Precision::amp_fp16));
  CHECK_FALSE(scales_loss(Precision::amp_bf16));
}
