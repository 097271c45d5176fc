// Compares logits by tiles, on processors with tiles, with the formulas in double; and the whole
// loss with the interpreter's.
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

/// Returns a normal value, rounded to bf16.
float normal(CounterRng& random, float scale) {
  return float_from_bf16(bf16_from_float(scale * random.normal()));
}

/// Rows and classes that end within a tile. The classes form two blocks, one for each of two lanes;
/// some rows have no label.
struct HeadProblem {
  std::size_t rows, width, classes, block;
  std::vector<float> x, weight;
  std::vector<std::int32_t> labels;
  float spread = 0.001f, of_label = 0.7f;

  HeadProblem(std::size_t r, std::size_t w, std::size_t c, std::size_t b)
      : rows{r}, width{w}, classes{c}, block{b} {
    CounterRng random{9, 1};
    for (std::size_t i = 0; i < rows * width; ++i)
      x.push_back(normal(random, 1));
    for (std::size_t i = 0; i < classes * width; ++i)
      weight.push_back(normal(random, 0.2f));
    for (std::size_t i = 0; i < rows; ++i)
      labels.push_back(i % 5 == 3 ? -1 : static_cast<std::int32_t>((i * 37) % classes));
  }
  float factor(std::size_t row) const { return labels[row] < 0 ? 0.0f : 0.25f; }
};

struct HeadResults {
  std::vector<double> total, all, of_label, dx, dweight;
};

double logit(const HeadProblem& p, std::size_t row, std::size_t k) {
  double sum = 0;
  for (std::size_t c = 0; c < p.width; ++c)
    sum += double{p.x[row * p.width + c]} * double{p.weight[k * p.width + c]};
  return sum;
}

void add_row(const HeadProblem& p, std::size_t row, HeadResults& r) {
  std::vector<double> logits;
  double sum = 0, all = 0;
  for (std::size_t k = 0; k < p.classes; ++k) {
    logits.push_back(logit(p, row, k));
    sum += std::exp(logits[k]);
    all += logits[k];
  }
  const auto label = static_cast<std::size_t>(std::max(p.labels[row], 0));
  r.total.push_back(std::log(sum));
  r.all.push_back(all);
  r.of_label.push_back(p.labels[row] < 0 ? 0 : logits[label]);
  for (std::size_t k = 0; k < p.classes && p.labels[row] >= 0; ++k) {
    const double probability = std::exp(logits[k]) / sum;
    const double d = (probability - double{p.spread}) * double{p.factor(row)} -
                     (k == label ? double{p.of_label} : 0.0);
    for (std::size_t c = 0; c < p.width; ++c) {
      r.dx[row * p.width + c] += d * double{p.weight[k * p.width + c]};
      r.dweight[k * p.width + c] += d * double{p.x[row * p.width + c]};
    }
  }
}

HeadResults formulas(const HeadProblem& p) {
  HeadResults r;
  r.dx.resize(p.x.size());
  r.dweight.resize(p.weight.size());
  for (std::size_t row = 0; row < p.rows; ++row)
    add_row(p, row, r);
  return r;
}

/// Calls the kernels from two lanes, with uninitialized (NaN) memory.
class ByTiles {
public:
  ByTiles(const cpu::LogitKernels& kernels, const HeadProblem& problem)
      : k_{kernels}, p_{problem}, packed_(k_.packed_floats(p_.rows, p_.width), NAN),
        scratch_(k_.scratch_floats(p_.rows, p_.width), NAN) {
    std::vector<cpu::Bf16> x;
    for (const float value : p_.x)
      x.push_back({bf16_from_float(value)});
    k_.pack(rows(), x.data(), packed_.data(), 0, 32);
    k_.pack(rows(), x.data(), packed_.data(), 32, p_.rows);
  }

  HeadResults run() {
    HeadResults r;
    for (std::size_t lane = 0; lane < 2; ++lane)
      sum(lane);
    for (std::size_t row = 0; row < p_.rows; ++row)
      add(row, r);
    differentiate(r);
    return r;
  }

private:
  cpu::LossRows rows() const { return {p_.rows, p_.width, packed_.data()}; }
  std::size_t padded() const { return (p_.rows + 31) / 32 * 32; }
  cpu::LogitBlock block(std::size_t lane) const {
    const std::size_t first = lane * p_.block;
    return {first, std::min(p_.block, p_.classes - first), p_.weight.data() + first * p_.width};
  }
  void sum(std::size_t lane) {
    sums_[lane].resize(4 * padded());
    std::fill_n(sums_[lane].data(), padded(), -1e30f);
    float* const first = sums_[lane].data();
    k_.sums(rows(), block(lane), p_.labels.data(),
            {first, first + padded(), first + 2 * padded(), first + 3 * padded()}, scratch_.data());
  }
  double of(std::size_t lane, std::size_t part, std::size_t row) const {
    return double{sums_[lane][part * padded() + row]};
  }
  void add(std::size_t row, HeadResults& r) {
    r.total.push_back(std::log(of(0, 1, row) * std::exp(of(0, 0, row)) +
                               of(1, 1, row) * std::exp(of(1, 0, row))));
    r.all.push_back(of(0, 2, row) + of(1, 2, row));
    r.of_label.push_back(of(0, 3, row) + of(1, 3, row));
  }
  /// The first pass writes the gradients, the second adds the same values.
  void differentiate(HeadResults& r) {
    const std::size_t distance = k_.dx_floats(p_.rows, p_.width);
    std::vector<float> total(padded()), factor(padded()), dweight(p_.weight.size(), NAN);
    std::vector<float> packed(2 * distance, NAN);
    for (std::size_t row = 0; row < p_.rows; ++row) {
      total[row] = static_cast<float>(r.total[row]);
      factor[row] = p_.factor(row) / 2;
    }
    for (const bool again : {false, true})
      for (std::size_t lane = 0; lane < 2; ++lane)
        k_.gradients(rows(), block(lane), p_.labels.data(),
                     {total.data(), factor.data(), p_.spread, p_.of_label / 2,
                      packed.data() + lane * distance, dweight.data() + lane * p_.block * p_.width,
                      again, again},
                     scratch_.data());
    std::vector<cpu::Bf16> dx(p_.x.size());
    k_.unpack(rows(), packed.data(), distance, 2, dx.data(), 0, 32);
    k_.unpack(rows(), packed.data(), distance, 2, dx.data(), 32, p_.rows);
    for (const auto value : dx)
      r.dx.push_back(double{float_from_bf16(value.bits)});
    r.dweight.assign(dweight.begin(), dweight.end());
  }

  const cpu::LogitKernels& k_;
  const HeadProblem& p_;
  std::vector<float> packed_, scratch_, sums_[2];
};

/// Returns the largest difference of any row of `columns` values, divided by that row's largest
/// value.
double error(const std::vector<double>& got, const std::vector<double>& expected,
             std::size_t columns) {
  double worst = 0;
  for (std::size_t first = 0; first < got.size(); first += columns) {
    double most = 1e-3, difference = 0;
    for (std::size_t i = first; i < first + columns; ++i) {
      most = std::max(most, std::abs(expected[i]));
      difference =
          std::isnan(got[i]) ? INFINITY : std::max(difference, std::abs(got[i] - expected[i]));
    }
    worst = std::max(worst, difference / most);
  }
  return worst;
}

/// A head after an embedding, in bf16.
nn::PreparedModel head(std::int64_t rows, std::int64_t width, std::int64_t classes) {
  nn::GraphBuilder b;
  b.begin_unit("all");
  const auto ids = b.input("tokens", {1, rows}, DType::i32);
  const auto labels = b.target("labels", {1, rows}, DType::i32);
  const auto table = b.parameter("wte.weight", {11, width}, Initial::normal(0.5));
  const auto weight = b.parameter("head.weight", {classes, width}, Initial::normal(0.2));
  const auto x = b.apply(Op::embedding, "wte", {ids, table});
  b.apply(Op::linear_cross_entropy, "loss", {x, weight, labels},
          LossAttributes{.label_smoothing = 0.1f}, {"log_sum_exp", "counted"});
  auto graph = std::move(b).finish();
  REQUIRE(graph);
  auto prepared =
      nn::run_passes(*graph, nn::PassMode::training, {.precision = Precision::amp_bf16});
  REQUIRE(prepared);
  return *std::move(prepared);
}

} // namespace

TEST_CASE("logits computed in tiles match the formulas, and so do their gradients") {
  const auto tables = cpu::usable_kernels();
  const auto found =
      std::ranges::find_if(tables, [](const auto& table) { return table.logits.sums; });
  if (found == tables.end())
    SKIP("this processor has no tiles of bf16");
  for (const HeadProblem& p : {HeadProblem{45, 72, 130, 96}, HeadProblem{96, 64, 64, 32}}) {
    CAPTURE(p.rows, p.width, p.classes);
    const auto expected = formulas(p);
    const auto got = ByTiles{found->logits, p}.run();
    CHECK(error(got.total, expected.total, 1) < 1e-5);
    CHECK(error(got.all, expected.all, p.rows) < 1e-5);
    CHECK(error(got.of_label, expected.of_label, p.rows) < 1e-5);
    CHECK(error(got.dx, expected.dx, p.width) < 0.02);
    CHECK(error(got.dweight, expected.dweight, p.width) < 0.02);
  }
}

TEST_CASE(
    "the loss of a head in bf16 over several blocks of rows and classes matches the interpreter") {
  const int threads = GENERATE(1, 3);
  testing::require_pass_of_interpreter(head(1100, 72, 611), Precision::amp_bf16, threads);
}
