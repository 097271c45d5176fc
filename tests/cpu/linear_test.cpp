// Tests linear layers in bf16: gradients of weights by tiles, on processors with tiles, against
// sums in double; and whole layers of many rows, which are multiplied in slices together with the
// following ops, against the interpreter.
#include "core/float16.hpp"
#include "core/random.hpp"
#include "cpu/kernels/kernels.hpp"
#include "nn/builder.hpp"
#include "tests/cpu/host_pass.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace troupe;

namespace {

using Limits = cpu::WeightGradientKernels;

/// Returns normal values, rounded to bf16.
std::vector<cpu::Bf16> normal_values(std::size_t count, std::uint64_t seed) {
  CounterRng random{seed, 1};
  std::vector<cpu::Bf16> values(count);
  for (auto& value : values)
    value.bits = bf16_from_float(random.normal());
  return values;
}

double value_of(cpu::Bf16 value) {
  return double{float_from_bf16(value.bits)};
}

struct GradientProblem {
  std::size_t rows, in, out;
  std::vector<cpu::Bf16> x, dy;

  GradientProblem(std::size_t r, std::size_t i, std::size_t o)
      : rows{r}, in{i}, out{o}, x{normal_values(r * i, 1)}, dy{normal_values(r * o, 2)} {}

  double expected(std::size_t k, std::size_t c) const {
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row)
      sum += value_of(dy[row * out + k]) * value_of(x[row * in + c]);
    return sum;
  }
};

/// Calls the kernels as the engine does, with uninitialized (NaN) memory.
std::vector<float> by_tiles(const Limits& kernel, const GradientProblem& p, std::size_t block) {
  const std::size_t blocks = (p.out + block - 1) / block, sums_floats = kernel.sums_floats(p.in);
  std::vector<float> packed(kernel.packed_floats(p.in), NAN), scratch(kernel.scratch_floats(), NAN);
  std::vector<float> sums(blocks * sums_floats, NAN), dweight(p.out * p.in, NAN);
  for (std::size_t first = 0; first < p.rows; first += Limits::most_rows) {
    const std::size_t count = std::min(Limits::most_rows, p.rows - first);
    const cpu::ActivationRows x{p.x.data() + first * p.in, count, p.in};
    const std::size_t middle = count / 2 / Limits::row_block * Limits::row_block;
    kernel.pack(x, packed.data(), 0, middle);
    kernel.pack(x, packed.data(), middle, count);
    for (std::size_t b = 0; b < blocks; ++b)
      kernel.multiply({p.dy.data() + first * p.out, count, p.out}, packed.data(), p.in,
                      {.first = b * block,
                       .count = std::min(block, p.out - b * block),
                       .sums = sums.data() + b * sums_floats,
                       .add = first > 0,
                       .dweight = first + count == p.rows ? dweight.data() : nullptr},
                      scratch.data());
  }
  return dweight;
}

/// The layers of a transformer after attention, in bf16.
nn::PreparedModel layers(std::int64_t rows) {
  constexpr std::int64_t width = 72, classes = 11;
  nn::GraphBuilder b;
  b.begin_unit("all");
  const auto ids = b.input("tokens", {1, rows}, DType::i32);
  const auto labels = b.target("labels", {1, rows}, DType::i32);
  const auto table = b.parameter("wte.weight", {classes, width}, Initial::normal(1));
  const auto x = b.apply(Op::embedding, "wte", {ids, table});
  const auto hidden =
      b.gelu("act", b.linear("fc", b.layer_norm("ln", x, {}), 4 * width), {.tanh = true});
  const auto y = b.add("add", x, b.linear("proj", hidden, width));
  const auto weight = b.parameter("head.weight", {classes, width}, Initial::normal(0.2));
  b.apply(Op::linear_cross_entropy, "loss", {y, weight, labels}, LossAttributes{},
          {"log_sum_exp", "counted"});
  auto graph = std::move(b).finish();
  REQUIRE(graph);
  const nn::PassOptions passes{.fuse = nn::FusePatterns::all(), .precision = Precision::amp_bf16};
  auto prepared = nn::run_passes(*graph, nn::PassMode::training, passes);
  REQUIRE(prepared);
  return *std::move(prepared);
}

} // namespace

TEST_CASE("weight gradients computed in tiles equal the sums of products over all rows") {
  const auto tables = cpu::usable_kernels();
  const auto found = std::ranges::find_if(
      tables, [](const auto& table) { return table.weight_gradient.multiply; });
  if (found == tables.end())
    SKIP("this processor has no tiles of bf16");
  // Rows and columns that end within a tile, in one chunk and in two; two blocks.
  for (const GradientProblem& p : {GradientProblem{45, 70, 33}, GradientProblem{1100, 40, 90},
                                   GradientProblem{2048, 32, 64}}) {
    CAPTURE(p.rows, p.in, p.out);
    const auto got = by_tiles(found->weight_gradient, p, 64);
    for (std::size_t k = 0; k < p.out; ++k)
      for (std::size_t c = 0; c < p.in; ++c)
        REQUIRE(std::abs(double{got[k * p.in + c]} - p.expected(k, c)) < 1e-3);
  }
}

TEST_CASE("linear layers in bf16 with bias, gelu and a residual match the interpreter") {
  const int threads = GENERATE(1, 2, 3);
  const std::int64_t rows = GENERATE(1, 7, 192, 1100);
  CAPTURE(threads, rows);
  testing::require_pass_of_interpreter(layers(rows), Precision::amp_bf16, threads);
}
