// Tests how often forward and backward disagree about ReLU's mask when batch norm is fused into
// convolutions, and the effect on gradients. Forward (patterns c and f) reads factor and offset
// rounded to 16 bits; backward (pattern d) recomputes the mask from statistics in f32.
// relu_edge.hpp derives the bound for masks.
//
// A share d of wrong masks, where a share a of elements passes, makes a gradient wrong by sqrt(d /
// a) of its norm, because the incoming gradient does not depend on an element's distance from the
// edge. One rounding of the gradient itself adds to that.
#include "tests/gpu/relu_edge.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>

using namespace troupe::gpu::cudnn;
using namespace troupe::testing;
using troupe::Residual;

namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Mask = std::vector<bool>;

Floats identity() {
  const auto channels = static_cast<std::size_t>(relu_problem.in);
  Floats weights(channels * channels);
  for (std::size_t c = 0; c < channels; ++c)
    weights[c * channels + c] = 1;
  return weights;
}

Mask positive(const Floats& values) {
  Mask mask;
  for (const auto value : values)
    mask.push_back(value > 0);
  return mask;
}

double share(const Mask& a, const Mask& b) {
  std::size_t others = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    others += a[i] != b[i];
  return static_cast<double>(others) / static_cast<double>(a.size());
}

DeviceValues values_of(const Target& target, const OperationGraph& graph,
                       const DeviceValues& inputs) {
  auto values = run_on_gpu(target, graph, inputs);
  if (!values && target.sm() != 90)
    SKIP(graph.name << ": no plan for " << target.key());
  REQUIRE(values);
  return std::move(*values);
}

/// Returns the mask of a convolution with identity weights; at a block's end, the pattern writes
/// the result anyway.
Mask forward_mask(const Target& target, const ReluEdge& edge) {
  DeviceValues inputs = {{uid::x, edge.first.x},
                         {uid::w, identity()},
                         {uid::scale, edge.first.factor},
                         {uid::bias, edge.first.offset}};
  if (edge.shortcut == Residual::none)
    return positive(
        values_of(target, normalized_convolution_statistics(relu_problem), inputs).at(uid::y));
  const bool both = edge.shortcut == Residual::normalized;
  inputs[uid::dual_x] = both ? edge.second.x : edge.added;
  if (both)
    inputs.insert({{uid::dual_scale, edge.second.factor}, {uid::dual_bias, edge.second.offset}});
  return positive(values_of(target, residual_convolution_statistics(relu_problem, both), inputs)
                      .at(uid::activation));
}

DeviceValues backward(const Target& target, const ReluEdge& edge, const Floats& dy,
                      const Floats& weights) {
  DeviceValues inputs = {{uid::dy, dy}, {uid::w, weights}};
  edge.first.add_to(inputs, 0);
  if (edge.shortcut == Residual::plain)
    inputs[uid::shortcut] = edge.added;
  if (edge.shortcut == Residual::normalized)
    edge.second.add_to(inputs, uid::dual_offset);
  const bool at_end = edge.shortcut != Residual::none;
  if (at_end)
    inputs[uid::other_dx] = Floats(edge.first.count);
  return values_of(target, backward_data_batch_norm(relu_problem, edge.shortcut, at_end), inputs);
}

/// Returns the norm of the difference, divided by the expected norm.
double relative_norm(const Floats& values, const Doubles& expected) {
  double off = 0, all = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    off += std::pow(static_cast<double>(values[i]) - expected[i], 2);
    all += expected[i] * expected[i];
  }
  return std::sqrt(off / all);
}

Doubles products(const Doubles& dx, const ReluLayer& layer) {
  Doubles all(dx.size());
  for (std::size_t i = 0; i < dx.size(); ++i)
    all[i] = dx[i] * layer.standard(i);
  return all;
}

void check_masks(const Target& target, const ReluEdge& edge) {
  const auto ahead = forward_mask(target, edge),
             back = positive(
                 backward(target, edge, Floats(edge.first.count, 1.0f), identity()).at(uid::dx));
  std::size_t passing = 0, wrong = 0;
  for (std::size_t i = 0; i < ahead.size(); ++i) {
    passing += ahead[i];
    wrong += std::abs(edge.value(i)) > edge.error(i) &&
             (ahead[i] != back[i] || ahead[i] != (edge.value(i) > 0));
  }
  CHECK(wrong == 0);
  const double differ = share(ahead, back), bound = edge.bound();
  INFO("masks differ at " << differ << " of all elements, bound " << bound);
  CHECK(differ <= bound);

  // Compares the gradient for real weights and a real incoming gradient with the gradient for
  // forward's mask.
  const auto dy = in_half(normal_floats(elements_of(relu_problem.y()), 400)),
             w = in_half(normal_floats(64 * 64, 500, 0, 0.125f));
  auto dx = true_backward_data(relu_problem, dy, w);
  for (std::size_t i = 0; i < dx.size(); ++i)
    dx[i] = ahead[i] ? dx[i] : 0;
  const auto got = backward(target, edge, dy, w);
  const double active = static_cast<double>(passing) / static_cast<double>(ahead.size());
  const double allowed = std::sqrt(bound / active) + half_rounding;
  INFO("allowed, relative to a gradient's norm: " << allowed);
  CHECK(relative_norm(got.at(uid::dx), dx) <= allowed);
  CHECK(relative_norm(got.at(uid::dbias), channel_sums(dx, relu_problem.in, 1)) <= allowed);
  CHECK(relative_norm(got.at(uid::dscale),
                      channel_sums(products(dx, edge.first), relu_problem.in, 1)) <= allowed);
}

} // namespace

TEST_CASE(
    "forward and backward masks differ no more often than rounded factors and offsets explain",
    "[device]") {
  const auto target = gpu_or_skip();
  check_masks(target, ReluEdge{Residual::none});
}

TEST_CASE("masks at a block's end differ as rarely, with plain and normalized shortcuts",
          "[device]") {
  const auto target = gpu_or_skip();
  check_masks(target, ReluEdge{Residual::plain});
  check_masks(target, ReluEdge{Residual::normalized});
}

// The baseline, computed without a device: storing x in 16 bits changes masks too, with or without
// fusion.
TEST_CASE(
    "rounding factor and offset changes about as many masks as storing the input in 16 bits") {
  for (const auto shortcut : {Residual::none, Residual::plain, Residual::normalized}) {
    const ReluEdge edge{shortcut};
    Mask exact, stored, forward;
    for (std::size_t i = 0; i < edge.first.count; ++i) {
      exact.push_back(edge.unstored_value(i) > 0);
      stored.push_back(edge.value(i) > 0);
      forward.push_back(edge.rounded_value(i) > 0);
    }
    const double by_factors = share(stored, forward), by_storing = share(exact, stored);
    CAPTURE(by_factors, by_storing, edge.bound());
    CHECK(by_factors > 0);
    CHECK(by_factors < 2 * by_storing);
    CHECK(by_factors < edge.bound());
  }
}
