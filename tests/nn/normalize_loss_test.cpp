#include "nn/compile.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <numeric>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

constexpr std::int64_t image = 3, pixels = image * image * 3;

/// A small network on `batch` images.
Graph network(LossKind loss, std::int64_t batch, double loss_rows) {
  const ModelConfig config{.name = "mlp", .num_classes = 4, .hidden = {5}, .loss = loss};
  const auto forward =
      build_model(config, {.input = image_input(image), .batch = batch, .label_smoothing = 0.1f});
  REQUIRE(forward);
  auto prepared = run_passes(*forward, PassMode::training, {.loss_rows = loss_rows});
  REQUIRE(prepared);
  return std::move(prepared->graph);
}

struct Pass {
  double loss = 0, correct = 0;
  std::vector<float> gradient; ///< of all parameters
};

/// Runs one pass over images first, first + 1, ..., one per label; the rest of `batch` is padding.
Pass run(LossKind loss, std::int64_t batch, double loss_rows, std::size_t first,
         std::vector<std::int32_t> labels) {
  GraphRunner runner{network(loss, batch, loss_rows)};
  runner.fill();
  const auto all = noise(16 * pixels, 3);
  std::vector<float> images(static_cast<std::size_t>(batch * pixels));
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(first) * pixels,
              static_cast<std::ptrdiff_t>(labels.size()) * pixels, images.begin());
  labels.resize(static_cast<std::size_t>(batch), -1);
  runner.set("images", images);
  runner.set_labels("labels", labels);
  runner.run();
  Pass pass{double{runner.get("loss")[0]}, double{runner.get("correct")[0]}, {}};
  for (const auto id : runner.graph().with_role(Role::gradient))
    for (const float value : runner.get(runner.graph()[id].name))
      pass.gradient.push_back(value);
  return pass;
}

void add(Pass& sum, const Pass& part) {
  sum.loss += part.loss;
  sum.correct += part.correct;
  sum.gradient.resize(part.gradient.size());
  for (std::size_t i = 0; i < part.gradient.size(); ++i)
    sum.gradient[i] += part.gradient[i];
}

} // namespace

TEST_CASE("the mean over uneven micro-batches has the global batch's loss and gradient") {
  const auto loss = GENERATE(LossKind::cross_entropy, LossKind::mean_squared_error);
  CAPTURE(to_string(loss));
  const std::vector<std::int32_t> labels = {3, 1, 0, 2, 2, 1, 3, 0, 0, 1, 2};
  const auto whole = run(loss, 11, 0, 0, labels);
  const double rows = 11.0 / 3;
  Pass sum;
  std::size_t first = 0;
  for (const std::size_t size : {4u, 4u, 3u}) {
    const auto begin = labels.begin() + static_cast<std::ptrdiff_t>(first);
    add(sum, run(loss, 4, rows, first, {begin, begin + static_cast<std::ptrdiff_t>(size)}));
    first += size;
  }
  CHECK(sum.loss / 3 == Catch::Approx(whole.loss).epsilon(1e-6));
  CHECK(sum.correct == whole.correct);
  for (auto& value : sum.gradient)
    value /= 3;
  CHECK(relative_error(sum.gradient, whole.gradient) < 1e-6);
}

TEST_CASE("the mean of the micro-batches' means would have another gradient") {
  const std::vector<std::int32_t> labels = {3, 1, 0, 2};
  const auto whole = run(LossKind::cross_entropy, 4, 0, 0, labels);
  Pass sum;
  add(sum, run(LossKind::cross_entropy, 3, 0, 0, {3, 1, 0}));
  add(sum, run(LossKind::cross_entropy, 3, 0, 3, {2}));
  for (auto& value : sum.gradient)
    value /= 2;
  CHECK(relative_error(sum.gradient, whole.gradient) > 0.05);
}

TEST_CASE("a sample without a label contributes nothing, wherever it is") {
  const auto loss = GENERATE(LossKind::cross_entropy, LossKind::mean_squared_error);
  CAPTURE(to_string(loss));
  const auto with = run(loss, 4, 3, 0, {3, -1, 0, 2});
  const auto among_labelled = run(loss, 4, 0, 0, {3, -1, 0, 2}); // three of the four have a label
  CHECK(with.loss == among_labelled.loss);
  CHECK(with.gradient == among_labelled.gradient);
  const auto none = run(loss, 4, 3, 0, {-1, -1, -1, -1});
  CHECK(none.loss == 0);
  CHECK(relative_error(none.gradient, std::vector<float>(none.gradient.size())) == 0);
}
