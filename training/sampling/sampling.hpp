/// Which token comes next: one of what a language model's logits say.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace troupe::training {

struct SamplingOptions {
  double temperature = 1; ///< logits are divided by it; 0: always the likeliest token
  std::int64_t top_k = 0; ///< only so many of the likeliest; 0: all
  /// Only the likeliest tokens that together have this probability, and at least one (Holtzman et
  /// al., "The Curious Case of Neural Text Degeneration", 2020); 1: all. After top_k.
  double top_p = 1;
  std::uint64_t seed = 0;
};

/// Equal logits and an equal seed give equal tokens on every machine: of equal logits the smaller
/// id is first, and numbers come from a generator whose values the C++ standard fixes.
class Sampler {
public:
  /// `never`: ids that are not chosen, ascending.
  explicit Sampler(const SamplingOptions& options, std::vector<std::int32_t> never = {})
      : options_{options}, random_{options.seed}, never_{std::move(never)} {}

  /// At least one logit of an id that may be chosen; what is not a number is never chosen unless
  /// all are.
  std::int32_t choose(std::span<const float> logits);

private:
  struct Candidate {
    std::int32_t id;
    float logit;
    double weight; ///< in proportion to its probability
  };

  void collect(std::span<const float> logits);
  void keep_top_k();
  /// `most`: the largest logit.
  void weigh(float most);
  void keep_top_p();
  double total() const;

  SamplingOptions options_;
  std::mt19937_64 random_;
  std::vector<std::int32_t> never_;
  std::vector<Candidate> candidates_;
};

} // namespace troupe::training
