#include "tests/devices/op_cases.hpp"
#include "tests/nn/fused_steps.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

bool gives_loss(const Node& node) {
  const auto* const a = std::get_if<LossAttributes>(&node.attributes);
  return node.op == Op::linear_cross_entropy_backward && a->loss;
}

Graph language_graph(bool fused, Precision precision, const std::vector<std::string>& keep = {}) {
  FusePatterns patterns = FusePatterns::none();
  patterns.linear_loss = fused;
  return testing::language_model(
             5, {.fuse = patterns, .precision = precision, .memory = {.keep = keep}})
      .graph;
}

} // namespace

TEST_CASE("the loss of a language model is computed with its gradients, with the same bits") {
  const auto precision = GENERATE(Precision::fp32, Precision::amp_fp16); // with a loss scale
  const auto plain = language_graph(false, precision), fused = language_graph(true, precision);
  CHECK(count(plain, gives_loss) == 0);
  CHECK(count(fused, gives_loss) == 1);
  const auto is_forward = [](const Node& node) { return node.op == Op::linear_cross_entropy; };
  CHECK(count(plain, is_forward) == 1);
  CHECK(count(fused, is_forward) == 0);
  CHECK(fused.with_role(Role::output).size() == plain.with_role(Role::output).size());
  constexpr double same_bits = 1e-30;
  check_same_step(plain, fused, same_bits);
}

TEST_CASE("the loss of a language model stays in forward if its saved values are kept") {
  CHECK(count(language_graph(true, Precision::fp32, {"loss.log_sum_exp"}), gives_loss) == 0);
}
