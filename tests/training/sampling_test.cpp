// Tests sampling by value: the logits are logarithms of known probabilities.
#include "training/sampling/sampling.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace troupe::training;

namespace {

std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities)
    logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

constexpr int draws = 20000;
constexpr double bound = 0.02; // more than five standard deviations of a share of that many draws

/// Returns how often each id is drawn, as a fraction.
std::vector<double> shares(const SamplingOptions& options, const std::vector<float>& logits) {
  Sampler sampler{options};
  std::vector<double> counts(logits.size());
  for (int i = 0; i < draws; ++i)
    counts[static_cast<std::size_t>(sampler.choose(logits))] += 1.0 / draws;
  return counts;
}

void check_shares(const SamplingOptions& options, const std::vector<double>& expected) {
  const auto found = shares(options, logits_of({0.1, 0.4, 0.3, 0.2}));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i, found[i], expected[i]);
    CHECK(std::abs(found[i] - expected[i]) < bound);
    CHECK((expected[i] > 0 || found[i] == 0));
  }
}

} // namespace

TEST_CASE("tokens are as frequent as their probabilities") {
  check_shares({.seed = 1}, {0.1, 0.4, 0.3, 0.2});
}

TEST_CASE("at temperature one half probabilities are squared") {
  check_shares({.temperature = 0.5, .seed = 1}, {0.01 / 0.3, 0.16 / 0.3, 0.09 / 0.3, 0.04 / 0.3});
}

TEST_CASE("excluded ids are never chosen and do not count for top_k") {
  const std::vector<float> logits = logits_of({0.1, 0.4, 0.3, 0.2});
  CHECK(Sampler{{.temperature = 0}, {1, 2}}.choose(logits) == 3);
  Sampler few{{.top_k = 2, .seed = 1}, {1}};
  for (int i = 0; i < 100; ++i)
    CHECK(few.choose(logits) >= 2);
}

TEST_CASE("top_k keeps the given number of most likely tokens") {
  check_shares({.top_k = 2, .seed = 1}, {0, 0.4 / 0.7, 0.3 / 0.7, 0});
}

TEST_CASE("top_p keeps the fewest tokens that reach it, and at least one") {
  check_shares({.top_p = 0.6, .seed = 1}, {0, 0.4 / 0.7, 0.3 / 0.7, 0});
  check_shares({.top_p = 0.75, .seed = 1}, {0, 0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9});
  check_shares({.top_p = 0, .seed = 1}, {0, 1, 0, 0});
}

TEST_CASE("top_p applies to the tokens that top_k keeps") {
  check_shares({.top_k = 2, .top_p = 0.5, .seed = 1}, {0, 1, 0, 0});
}

TEST_CASE("at temperature 0 the most likely token is chosen, the first among equals") {
  Sampler sampler{{.temperature = 0}};
  CHECK(sampler.choose(std::vector{1.0f, 3.0f, 3.0f}) == 1);
  CHECK(sampler.choose(std::vector{std::numeric_limits<float>::quiet_NaN(), -2.0f}) == 1);
}

TEST_CASE("a seed determines the tokens") {
  const auto logits = logits_of({0.1, 0.4, 0.3, 0.2});
  const auto drawn = [&](std::uint64_t seed) {
    Sampler sampler{{.seed = seed}};
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 32; ++i)
      ids.push_back(sampler.choose(logits));
    return ids;
  };
  CHECK(drawn(7) == drawn(7));
  CHECK(drawn(7) != drawn(8));
}
